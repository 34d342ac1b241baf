"""Real servers on sockets of their own, and one small program that both kinds of terminal can run."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import anyio
import libtmux
import pytest

from mcp_agent.tmux.memory import Input, MemoryPane, MemoryTerminal, Pasted
from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.server import ServerProcess, record_path
from mcp_agent.tmux.terminal import Capture, PaneRef, Terminal

ACTOR = r"""
import os, signal, sys, tty
tty.setraw(0)
def show(text): os.write(1, text.encode())
show("\x1b[?2004hready\r\n")
typed = b""
while True:
    typed += os.read(0, 65536)
    while b"\r" in typed:
        line, _, typed = typed.partition(b"\r")
        word, _, rest = line.decode().replace("\x1b[200~", "").replace("\x1b[201~", "").partition(" ")
        if word == "exit":
            sys.exit(int(rest))
        if word == "kill":
            os.kill(os.getpid(), int(rest))
        special = {"dim": f"> \x1b[2m{rest}\x1b[0m!\r\n", "title": f"\x1b]2;{rest}\x07\r\n"}
        show(special.get(word, f"got {word} {rest}\r\n"))
"""
"""Shows `ready`, then does what each submitted line says: exit, die by a signal, show something dim, set its title."""

RECORDER = r"""
import os, sys, tty
tty.setraw(0)
with open(sys.argv[1], "wb", buffering=0) as record:
    os.write(1, b"\x1b[?2004hready\r\n")
    while True:
        record.write(os.read(0, 65536))
"""
"""Writes every byte it reads to a file."""


def play(pane: MemoryPane) -> None:
    """`ACTOR`, for the terminal in memory."""
    shown, dim, typed = ["ready"], [""], ""

    def take(received: Input) -> None:
        nonlocal typed
        if isinstance(received, Pasted):
            typed += received.text
            return
        word, _, rest = typed.partition(" ")
        typed = ""
        if word == "exit":
            pane.exit(int(rest))
        elif word == "kill":
            pane.kill(int(rest))
        else:
            shown.append({"dim": f"> {rest}!", "title": ""}.get(word, f"got {word} {rest}"))
            dim.append(f"  {rest}" if word == "dim" else "")
            pane.show(*shown, dim_lines=dim, title=rest if word == "title" else pane.screen.title)

    pane.on_input = take
    pane.show(*shown, dim_lines=dim)


class Stage(Protocol):
    """A terminal under test, with the hands that only a test has."""

    @property
    def terminal(self) -> Terminal: ...

    async def scroll(self, pane: PaneRef) -> None:
        """Put the pane into copy mode, as a person does."""
        ...

    async def lose(self) -> None:
        """The terminal's server dies."""
        ...


@dataclass
class TmuxStage:
    terminal: TmuxTerminal
    server: libtmux.Server
    identity: Callable[[], ServerProcess]

    async def scroll(self, pane: PaneRef) -> None:
        await anyio.to_thread.run_sync(self.server.cmd, "copy-mode", "-t", pane.pane_id)

    async def lose(self) -> None:
        os.kill(self.identity().pid, signal.SIGKILL)


@dataclass
class MemoryStage:
    terminal: MemoryTerminal = field(default_factory=lambda: MemoryTerminal(play))

    async def scroll(self, pane: PaneRef) -> None:
        self.terminal.pane(pane).in_copy_mode = True

    async def lose(self) -> None:
        self.terminal.lose()


@pytest.fixture
def socket(short_tmp: Path) -> Iterator[Path]:
    """A socket for one test's tmux server, which is killed afterwards."""
    path = short_tmp / "tmux.sock"
    yield path
    server = ServerProcess.recorded(record_path(path))
    subprocess.run(["tmux", "-N", "-S", str(path), "kill-server"], capture_output=True, timeout=10, check=False)
    if server:
        with suppress(ProcessLookupError):
            server.signal(signal.SIGKILL)


@pytest.fixture
def server(socket: Path) -> libtmux.Server:
    """The same server, seen by somebody else."""
    return libtmux.Server(socket_path=socket)


@pytest.fixture
def identity(socket: Path) -> Callable[[], ServerProcess]:
    """Which process serves the socket now."""

    def read() -> ServerProcess:
        recorded = ServerProcess.recorded(record_path(socket))
        assert recorded is not None
        return recorded

    return read


@pytest.fixture
async def terminal(socket: Path) -> AsyncIterator[TmuxTerminal]:
    async with TmuxTerminal.open(socket) as opened:
        yield opened


@pytest.fixture(params=["tmux", "memory"])
async def stage(
    request: pytest.FixtureRequest,
    socket: Path,
    server: libtmux.Server,
    identity: Callable[[], ServerProcess],
) -> AsyncIterator[Stage]:
    """Each kind of terminal in turn."""
    if request.param == "memory":
        yield MemoryStage()
        return
    async with TmuxTerminal.open(socket, patience=timedelta(seconds=20)) as opened:
        yield TmuxStage(opened, server, identity)


class Actors:
    """Launches and talks to `ACTOR` on any terminal."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def launch(self, terminal: Terminal, name: str = "actor", **tags: str) -> PaneRef:
        pane = await terminal.spawn(
            name=name,
            argv=[sys.executable, "-I", "-c", ACTOR],
            cwd=self._directory,
            environment={},
            tags=tags or {"session": name},
        )
        await self.until(terminal, pane, "ready")
        return pane

    async def say(self, terminal: Terminal, pane: PaneRef, text: str) -> None:
        await terminal.paste(pane, text)
        await terminal.press(pane, "Enter")

    async def until(self, terminal: Terminal, pane: PaneRef, text: str) -> Capture:
        """The screen once it holds the text."""
        with anyio.fail_after(20):
            async with terminal.watch(pane) as events:
                while True:
                    screen = await terminal.capture(pane)
                    if any(text in line for line in screen.lines):
                        return screen
                    await events.receive()


@pytest.fixture
def actors(short_tmp: Path) -> Actors:
    return Actors(short_tmp)


class Recording:
    """A pane that keeps every byte it was sent."""

    def __init__(self, terminal: Terminal, pane: PaneRef, file: Path) -> None:
        self.terminal, self.pane, self.file = terminal, pane, file

    async def until(self, size: int) -> bytes:
        """The bytes received, once there are as many."""
        with anyio.fail_after(20):
            while self.file.stat().st_size < size:  # noqa: ASYNC110 -- another process writes the file
                await anyio.sleep(0.01)
        return self.file.read_bytes()


@pytest.fixture
async def recording(terminal: TmuxTerminal, actors: Actors, short_tmp: Path) -> Recording:
    file = short_tmp / "received"
    pane = await terminal.spawn(
        name="recorder",
        argv=[sys.executable, "-I", "-c", RECORDER, str(file)],
        cwd=short_tmp,
        environment={},
        tags={"session": "recorder"},
    )
    await actors.until(terminal, pane, "ready")
    return Recording(terminal, pane, file)
