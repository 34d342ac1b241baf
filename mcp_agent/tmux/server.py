"""The private tmux server: started with what panes need, adopted when it lives, found again when its socket is not."""

import json
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import anyio
import psutil

from mcp_agent.errors import TmuxCommandFailed, TmuxUnavailable
from mcp_agent.tmux.connection import HUB
from mcp_agent.tmux.process import PATIENCE, Tmux
from mcp_agent.tmux.terminal import DEFAULT_SIZE

_SIZE = tuple(map(str, DEFAULT_SIZE))
# `window-size manual` is set on each window instead: as a global option it crashes tmux 3.3a at the next new window.
_OPTIONS = (
    ("set-option", "-s", "escape-time", "0"),
    ("set-option", "-s", "focus-events", "on"),
    ("set-option", "-s", "set-clipboard", "off"),
    ("set-option", "-g", "default-size", "x".join(_SIZE)),
    ("set-option", "-g", "status", "off"),
    ("set-option", "-g", "history-limit", "20000"),
    ("set-option", "-g", "update-environment", ""),
    ("set-option", "-g", "default-shell", "/bin/sh"),
    ("set-option", "-gw", "remain-on-exit", "on"),
    ("set-option", "-gwq", "remain-on-exit-format", ""),
    ("set-option", "-gw", "automatic-rename", "off"),
)
_HUB = ("new-session", "-d", "-s", HUB, "-x", _SIZE[0], "-y", _SIZE[1], "--", "/usr/bin/env", "cat")
"""The hub's own program waits for input that never comes; its death would be harmless."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A tmux server's process, told from a later one with its pid by the start time."""

    pid: int
    started: float

    @classmethod
    def of(cls, pid: int) -> Self | None:
        """The process as it runs now; None when there is none."""
        try:
            return cls(pid, psutil.Process(pid).create_time())
        except psutil.Error:
            return None

    @classmethod
    def recorded(cls, path: Path) -> Self | None:
        """The server that last used a socket; None when that is not known."""
        try:
            record = json.loads(path.read_text())
            return cls(int(record["pid"]), float(record["started"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def record(self, path: Path) -> None:
        """Keep this for `recorded`, readable by the owner only."""
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(self)))

    @property
    def alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        try:
            process = psutil.Process(self.pid)
            return process.create_time() == self.started and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False
        except psutil.Error:
            return True

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it is gone."""
        if self.alive:
            with suppress(psutil.Error):
                psutil.Process(self.pid).send_signal(number)


def record_path(socket: Path) -> Path:
    """Where the identity of a socket's server is kept."""
    return socket.with_name(f"{socket.name}.server")


async def ensure_server(tmux: Tmux) -> None:
    """See to it that the server runs and has its hub. Raises `TmuxUnavailable`."""
    await recover_socket(tmux)
    problem = TmuxUnavailable("tmux did not start")
    with anyio.move_on_after(tmux.patience.total_seconds()):
        while True:
            try:
                return await _ensure_hub(tmux, start=True)
            except TmuxUnavailable as refused:
                # A server that is just being killed refuses its successor for a moment.
                problem = refused
                await anyio.sleep(0.05)
    raise problem


async def ensure_hub(tmux: Tmux) -> None:
    """See to it that a live server has its hub, and never start a server. Raises `TmuxUnavailable`."""
    await recover_socket(tmux)
    await _ensure_hub(tmux, start=False)


async def _ensure_hub(tmux: Tmux, *, start: bool) -> None:
    with suppress(TmuxCommandFailed, TmuxUnavailable):
        await tmux.run("-N", "has-session", "-t", f"={HUB}")
        return
    words = ["start-server"] if start else ["-N", "start-server"]
    for command in (*_OPTIONS, _HUB):
        words += [";", *command]
    try:
        await tmux.run(*words)
    except TmuxCommandFailed as failed:
        if "duplicate session" not in failed.problem:
            raise TmuxUnavailable(str(failed)) from failed
    with suppress(OSError):
        tmux.socket.chmod(0o600)


async def recover_socket(tmux: Tmux) -> None:
    """Have a live server make its socket again when somebody removed it, so that it never gets a twin."""
    if tmux.socket.exists():
        return
    server = ServerProcess.recorded(record_path(tmux.socket))
    if server is None or not server.alive:
        return
    server.signal(signal.SIGUSR1)
    if await _comes_true(tmux.socket.exists):
        return
    raise TmuxUnavailable(f"the tmux server (pid {server.pid}) lives but its socket {tmux.socket} is gone")


async def kill_server(tmux: Tmux) -> None:
    """End the server with every pane, and wait until it is gone. No server is fine."""
    server = ServerProcess.recorded(record_path(tmux.socket))
    with suppress(TmuxUnavailable, TmuxCommandFailed):
        await recover_socket(tmux)
        await tmux.run("-N", "kill-server")
    if server is not None and not await _comes_true(lambda: not server.alive):
        server.signal(signal.SIGKILL)
        await _comes_true(lambda: not server.alive)
    for path in (tmux.socket, record_path(tmux.socket)):
        path.unlink(missing_ok=True)


async def _comes_true(condition: Callable[[], bool]) -> bool:
    """Ask again and again, for things that nothing tells."""
    with anyio.move_on_after(PATIENCE.total_seconds()):
        while not condition():  # noqa: ASYNC110 -- another process's file or end: there is no event to wait on
            await anyio.sleep(0.01)
        return True
    return False
