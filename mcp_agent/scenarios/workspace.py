"""The place of one run: a temporary root with its own state, home and working directory, and nothing after it.

A run that was killed cannot put its things away, so the next run does: a root whose run is no longer alive is swept.
"""

import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.errors import McpAgentError
from mcp_agent.processes import ProcessIdentity, identify, is_alive
from mcp_agent.processes.reaping import reap, wait_gone
from mcp_agent.server.client import Client
from mcp_agent.sessions.closing import end_processes
from mcp_agent.state import HOME_VARIABLE, StateDirectory, write_private
from mcp_agent.tmux.process import Tmux
from mcp_agent.tmux.server import kill_server

PREFIX = "mcp-agent-e2e-"
RUN_FILE = "run.json"
STOPS_WITHIN = timedelta(minutes=2)
"""What a server may take to end its sessions; after that its processes are ended without it."""
ENDS_WITHIN = timedelta(seconds=10)
BEGINS_WITHIN = timedelta(minutes=1)
"""A root that is older than this and names no run was left by one that was killed at once."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """Everything below one root."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def working_directory(self) -> Path:
        return self.root / "work"

    @property
    def state(self) -> StateDirectory:
        return StateDirectory(root=self.root / "state", runtime=self.root)

    def environment(self, caller: Mapping[str, str]) -> dict[str, str]:
        """The caller's variables with our own state, and without the user's configuration file."""
        return {**caller, HOME_VARIABLE: str(self.state.root), "XDG_CONFIG_HOME": str(self.home / ".config")}


@asynccontextmanager
async def workspace(parent: Path, *, keep: bool = False) -> AsyncGenerator[Workspace]:
    """A fresh workspace; on leaving, its server is stopped with all it runs, and the root is removed.

    `keep`: unless the run was ended from outside, a server that still runs goes on, and its root stays as long as it.
    """
    await sweep(parent)
    space, kept = Workspace(Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).resolve()), False
    try:
        me = identify(os.getpid())
        write_private(space.root / RUN_FILE, json.dumps(me.to_json() if me else {}))
        for directory in (space.home, space.home / "tmp", space.working_directory):
            directory.mkdir(mode=0o700)
        yield space
        kept = keep and _is_handed_over(space)
    finally:
        if not kept:
            with anyio.CancelScope(shield=True):
                await _put_away(space)


def _is_handed_over(space: Workspace) -> bool:
    """Make the root its server's own, if that lives: whoever sweeps next looks for the server instead of the run."""
    server = _server_of(space)
    if server is None or not is_alive(server):
        return False
    write_private(space.root / RUN_FILE, json.dumps(server.to_json()))
    return True


async def sweep(parent: Path) -> None:
    """Put away the workspaces of runs that are dead and are ours to remove."""
    for root in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if _is_ours(root) and not _has_live_run(root):
                await _put_away(Workspace(root))


def _is_ours(root: Path) -> bool:
    found = root.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def _has_live_run(root: Path) -> bool:
    """A root that names no run counts as live while its run may just be beginning."""
    try:
        return is_alive(ProcessIdentity.from_json(json.loads((root / RUN_FILE).read_bytes())))
    except (OSError, ValueError):
        return time.time() - root.stat().st_mtime < BEGINS_WITHIN.total_seconds()


async def _put_away(space: Workspace) -> None:
    """The server is asked first; what it leaves, or what a dead one left, is ended by its marks and its socket."""
    server = _server_of(space)
    try:
        with anyio.move_on_after(STOPS_WITHIN.total_seconds()):
            await anyio.to_thread.run_sync(_stop_server, space, abandon_on_cancel=True)
    finally:
        await _end_the_rest(space, server)


async def _end_the_rest(space: Workspace, server: ProcessIdentity | None) -> None:
    if server is not None and not await wait_gone([server], limit=ENDS_WITHIN):
        await reap([server], grace=ENDS_WITHIN)
    for session in space.state.sessions.glob("*"):
        await end_processes(session.name)
    with suppress(McpAgentError):
        await kill_server(Tmux.at(space.state.tmux_socket))
    shutil.rmtree(space.root, ignore_errors=True)


def _server_of(space: Workspace) -> ProcessIdentity | None:
    try:
        return ProcessIdentity.from_json(json.loads(space.state.server_record.read_bytes()))
    except (OSError, ValueError):
        return None


def _stop_server(space: Workspace) -> None:
    with suppress(McpAgentError, OSError), Client.connect(space.state, start=False) as client:
        client.post("/server/stop?now=true", waits=True)
