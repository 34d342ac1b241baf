"""Holding back panes that write more than anybody reads, so that a flood costs neither memory nor answers.

tmux keeps what a control client has not read yet, and its answers queue behind that. A paused pane goes on writing to
its screen; only the telling of it stops.
"""

from collections.abc import Callable
from datetime import timedelta

import anyio
import anyio.abc

from mcp_agent.errors import TmuxCommandFailed, TmuxUnavailable
from mcp_agent.tmux.link import Link

FLOOD_BYTES = 128 * 1024
"""More than a full redraw of any screen takes."""
WITHIN = timedelta(milliseconds=250)
HELD_FOR = timedelta(milliseconds=250)


class Flow:
    """Which panes are held back. After each hold `on_release` is told the pane, since its screen has changed."""

    def __init__(self, link: Link, tasks: anyio.abc.TaskGroup, *, on_release: Callable[[str], None]) -> None:
        self._link, self._tasks, self._on_release = link, tasks, on_release
        self._written: dict[str, int] = {}
        self._since_seconds = 0.0
        self._held: set[str] = set()
        self._paused: set[str] = set()

    def wrote(self, pane_id: str, size: int) -> None:
        """Count what a pane wrote, and hold it back when that is a flood."""
        now_seconds = anyio.current_time()
        if now_seconds - self._since_seconds > WITHIN.total_seconds():
            self._written.clear()
            self._since_seconds = now_seconds
        self._written[pane_id] = self._written.get(pane_id, 0) + size
        if self._written[pane_id] > FLOOD_BYTES:
            self._hold(pane_id)

    def paused(self, pane_id: str) -> None:
        """tmux tells that it paused a pane, because we said so or because we were too slow."""
        self._paused.add(pane_id)
        self._hold(pane_id)

    def _hold(self, pane_id: str) -> None:
        if pane_id not in self._held:
            self._held.add(pane_id)
            self._tasks.start_soon(self._pause_and_continue, pane_id)

    async def _pause_and_continue(self, pane_id: str) -> None:
        if pane_id not in self._paused:
            await self._say(pane_id, "pause")
            self._paused.add(pane_id)
        while pane_id in self._paused:
            await anyio.sleep(HELD_FOR.total_seconds())
            # What tmux pauses from here on is told after this, and released in the next round.
            self._paused.discard(pane_id)
            if not await self._say(pane_id, "continue"):
                self._paused.add(pane_id)
        self._held.discard(pane_id)
        self._on_release(pane_id)

    async def _say(self, pane_id: str, what: str) -> bool:
        """Whether tmux heard it. A new connection has nothing paused, and without a server there is nothing to say."""
        try:
            if connection := await self._link.connection():
                await connection.command("refresh-client", "-A", f"{pane_id}:{what}")
        except TmuxUnavailable:
            return False
        except TmuxCommandFailed:
            return True
        return True
