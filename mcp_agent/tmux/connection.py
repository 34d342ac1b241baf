"""One control-mode connection to a tmux server: commands at 0.2 ms, and the events of every hub window."""

import os
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from secrets import token_hex

import anyio
import anyio.abc

from mcp_agent.errors import TmuxCommandFailed, TmuxUnavailable
from mcp_agent.tmux.groups import single_error
from mcp_agent.tmux.process import Tmux
from mcp_agent.tmux.protocol import ControlParser, Event, Exit, Notification, Reply, join

PAUSE = "pause-after=1"
"""A pane whose output we have not read after one second is paused by tmux, instead of kept for us without bound."""
GATHER = timedelta(milliseconds=50)
"""How late an event may be told that comes right after another one."""
LARGEST_READ = 64 * 1024
TRICKLE = 4 * 1024
"""Fewer bytes at once are no flood: more of them may gather."""
HUB = "_hub"
"""The session that every agent's window is linked into, so that one client hears them all."""


@dataclass(slots=True)
class _Call:
    """One line that was sent, until the marker behind it came back."""

    verb: str
    marker: str
    replies: list[Reply] = field(default_factory=list)
    settled: anyio.Event = field(default_factory=anyio.Event)
    answered: bool = False


def _ignore(_event: Event) -> None:
    """The default for a connection whose events nobody wants."""


class ControlConnection:
    """An attached control client. Commands may be sent from many tasks; replies come back in their order."""

    def __init__(
        self, process: anyio.abc.Process, output: int, *, on_event: Callable[[Event], None], patience: timedelta
    ) -> None:
        self.closed = anyio.Event()
        """Set when the connection is lost or closed; every waiting command then raises `TmuxUnavailable`."""
        self.problem = "the connection to tmux is closed"
        self.escapes_buffers = True
        """Whether what is shown of a buffer has to be unescaped."""
        self.runs_hooks = False
        """Whether hooks run when they are told to."""
        self._process, self._output, self._on_event, self._patience = process, output, on_event, patience
        self._greeted = anyio.Event()
        self._calls: deque[_Call] = deque()
        self._asked = anyio.Event()
        self._turn = anyio.Lock()
        self._nonce = token_hex(8)
        self._sent = 0

    @classmethod
    @asynccontextmanager
    async def open(
        cls, tmux: Tmux, *, target: str = HUB, on_event: Callable[[Event], None] = _ignore
    ) -> AsyncGenerator["ControlConnection"]:
        """Attach to a session. `on_event` is called for each event, in order, and must not block or raise."""
        output, written = os.pipe()
        try:
            process = await tmux.open("-N", "-C", "attach-session", "-f", PAUSE, "-t", f"={target}", stdout=written)
        except OSError as error:
            os.close(output)
            raise TmuxUnavailable(f"tmux could not be run: {error}") from error
        finally:
            os.close(written)
        connection = cls(process, output, on_event=on_event, patience=tmux.patience)
        with single_error():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(connection._read)
                tasks.start_soon(connection._drain_problems)
                try:
                    await connection._wait_until_attached()
                    yield connection
                finally:
                    tasks.cancel_scope.cancel()
                    connection._close()
                    await connection._end()

    async def command(self, *words: str) -> list[str]:
        """What one command printed. Raises `TmuxCommandFailed` with tmux's own text, or `TmuxUnavailable`."""
        return [line for reply in await self.sequence([words]) for line in reply]

    async def sequence(self, commands: Sequence[Sequence[str]]) -> list[list[str]]:
        """What each command of one sequence printed; tmux does nothing else in between, and stops at the first failure.

        A command that runs others, such as `if-shell`, is followed by what those printed.
        """
        call = await self._send(commands)
        with anyio.move_on_after(self._patience.total_seconds()):
            await call.settled.wait()
        if not call.answered:
            late = f"no answer within {self._patience.total_seconds():g} s"
            raise TmuxUnavailable(f"tmux {call.verb}: {self.problem if self.closed.is_set() else late}")
        for reply in call.replies:
            if not reply.ok:
                raise TmuxCommandFailed(call.verb, "; ".join(reply.lines))
        return [list(reply.lines) for reply in call.replies]

    async def _send(self, commands: Sequence[Sequence[str]]) -> _Call:
        line = " ; ".join(join(command) for command in commands)
        async with self._turn:
            if self.closed.is_set() or self._process.stdin is None:
                raise TmuxUnavailable(self.problem)
            self._sent += 1
            call = _Call(commands[0][0], f"{self._nonce}-{self._sent}")
            self._calls.append(call)
            self._asked.set()
            # One command may answer with any number of blocks; the marker on a line of its own ends them all.
            await self._write(f"{line}\n{join(['display-message', '-p', call.marker])}\n".encode())
        return call

    async def _write(self, data: bytes) -> None:
        """Half a line would spoil every later one, so a write is finished or the connection is given up."""
        assert self._process.stdin is not None
        problem = "tmux does not read its commands"
        with anyio.move_on_after(self._patience.total_seconds(), shield=True):
            try:
                await self._process.stdin.send(data)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
                problem = self.problem
            else:
                return
        self.problem = problem
        self._close()

    async def _read(self) -> None:
        parser = ControlParser()
        try:
            await anyio.wait_readable(self._output)
            while data := os.read(self._output, LARGEST_READ):
                for event in parser.feed(data):
                    self._take(event)
                if len(data) < TRICKLE:
                    await self._gather()
                await anyio.wait_readable(self._output)
        finally:
            # A client whose output nobody takes does not leave: it must see that the pipe is closed.
            os.close(self._output)
            self._close()

    async def _gather(self) -> None:
        """Let events gather for a moment, unless somebody waits for an answer: each read of them is a wake-up."""
        if self._calls:
            return
        self._asked = anyio.Event()
        with anyio.move_on_after(GATHER.total_seconds()):
            await self._asked.wait()

    def _take(self, event: Event) -> None:
        match event:
            case Reply():
                self._settle(event)
            case Exit(reason) if reason:
                self.problem = f"tmux ended the connection: {reason}"
            case Notification("session-changed"):
                self._greeted.set()
        self._on_event(event)

    def _settle(self, reply: Reply) -> None:
        if not reply.ours:
            if not reply.ok:
                self.problem = "; ".join(reply.lines)
            return
        if not self._calls:
            return
        call = self._calls[0]
        if reply.lines != (call.marker,):
            call.replies.append(reply)
            return
        self._calls.popleft()
        call.answered = True
        call.settled.set()

    async def _drain_problems(self) -> None:
        assert self._process.stderr is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for data in self._process.stderr:
                self.problem = data.decode("utf-8", "replace").strip() or self.problem

    async def _wait_until_attached(self) -> None:
        with anyio.move_on_after(self._patience.total_seconds()):
            await self._greeted.wait()
        if self.closed.is_set() or not self._greeted.is_set():
            raise TmuxUnavailable(f"tmux attach-session: {self.problem}")

    def _close(self) -> None:
        self.closed.set()
        self._greeted.set()
        while self._calls:
            self._calls.popleft().settled.set()

    async def _end(self) -> None:
        """Detach by closing stdin; a client that does not leave is killed, which the server survives."""
        with anyio.CancelScope(shield=True):
            with suppress(anyio.BrokenResourceError, OSError):
                if self._process.stdin is not None:
                    await self._process.stdin.aclose()
            with anyio.move_on_after(1):
                await self._process.wait()
            with suppress(ProcessLookupError):
                self._process.kill()
            with anyio.move_on_after(1):
                await self._process.aclose()
