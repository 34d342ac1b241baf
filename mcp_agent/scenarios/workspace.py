"""The place of one run: a temporary root with its own state, home and working directory, and nothing after it.

A run that was killed cannot put its things away, so the next run does: a root whose run is no longer alive is swept.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_agent.errors import McpAgentError
from mcp_agent.processes import ProcessIdentity, identify, is_alive
from mcp_agent.server.client import Client
from mcp_agent.state import HOME_VARIABLE, StateDirectory, write_private

PREFIX = "mcp-agent-e2e-"


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


@contextmanager
def workspace(parent: Path) -> Generator[Workspace]:
    """A fresh workspace; on leaving, its server is stopped with all it runs, and the root is removed."""
    sweep(parent)
    space = Workspace(Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)).resolve())
    try:
        me = identify(os.getpid())
        write_private(space.root / "run.json", json.dumps(me.to_json() if me else {}))
        for directory in (space.home, space.home / "tmp", space.working_directory):
            directory.mkdir(mode=0o700)
        yield space
    finally:
        _put_away(space)


def sweep(parent: Path) -> None:
    """Put away the workspaces of runs that are dead and are ours to remove."""
    for root in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if root.stat().st_uid == os.getuid() and not _has_live_run(root):
                _put_away(Workspace(root))


def _has_live_run(root: Path) -> bool:
    """An unreadable run file counts as live: its run may just be beginning."""
    try:
        return is_alive(ProcessIdentity.from_json(json.loads((root / "run.json").read_bytes())))
    except (OSError, ValueError, KeyError, TypeError):
        return True


def _put_away(space: Workspace) -> None:
    with suppress(McpAgentError, OSError), Client.connect(space.state, start=False) as client:
        client.post("/server/stop?now=true", waits=True)
        client.wait_until_gone()
    if space.state.tmux_socket.exists():
        subprocess.run(
            ["tmux", "-S", str(space.state.tmux_socket), "kill-server"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    shutil.rmtree(space.root, ignore_errors=True)
