"""The terminal of a server: opened with its first session, shut down with its last."""

import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

import anyio
from anyio.abc import TaskGroup, TaskStatus

from mcp_agent.errors import TmuxError
from mcp_agent.tmux.terminal import Terminal

log = logging.getLogger(__name__)


class OwnedTerminal(Terminal, Protocol):
    """A terminal whose server is ours to end."""

    async def shutdown(self) -> None: ...


OpenTerminal = Callable[[], AbstractAsyncContextManager[OwnedTerminal]]


@dataclass(slots=True)
class TerminalHost:
    """One terminal at a time, kept open by a task of the owner's group."""

    open_terminal: OpenTerminal
    owner: TaskGroup
    _terminal: OwnedTerminal | None = None
    _close: anyio.Event = field(default_factory=anyio.Event)
    _closed: anyio.Event = field(default_factory=anyio.Event)
    _lock: anyio.Lock = field(default_factory=anyio.Lock)
    _users: int = 0

    async def acquire(self) -> Terminal:
        """The terminal, opened when it is not; each user releases it once."""
        async with self._lock:
            if self._terminal is None:
                self._close, self._closed = anyio.Event(), anyio.Event()
                await self.owner.start(self._hold)
            assert self._terminal is not None
            self._users += 1
            return self._terminal

    async def release(self) -> None:
        """One user less; without any, the terminal's server is shut down. Returns when that is done."""
        with anyio.CancelScope(shield=True):
            async with self._lock:
                self._users -= 1
                if self._users == 0 and self._terminal is not None:
                    self._close.set()
                    await self._closed.wait()

    async def _hold(self, *, task_status: TaskStatus[None]) -> None:
        try:
            async with self.open_terminal() as terminal:
                self._terminal = terminal
                task_status.started()
                await self._close.wait()
                await _shut_down(terminal)
        finally:
            self._terminal = None
            self._closed.set()


async def _shut_down(terminal: OwnedTerminal) -> None:
    """End the terminal's server, unless it holds panes that no session of ours has given back."""
    try:
        if left := await terminal.panes():
            log.warning("the terminal stays: panes %s are nobody's", ", ".join(pane.pane.pane_id for pane in left))
        else:
            await terminal.shutdown()
    except TmuxError as error:
        log.warning("the terminal was not shut down: %s", error)
