"""How soon and how often the screen of one session is looked at.

A screen is read when it settles. One that never does, because something turns on it, is read now and then, and ever
more seldom while that brings no news. Without any hint it is read seldom too, since hints can be lost.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import anyio

SETTLE = timedelta(milliseconds=150)
"""A screen is read when nothing was written for this long."""
LONGEST_SETTLE = timedelta(milliseconds=500)
"""A screen that brought news is read at least this often while something is written."""
SELDOM = timedelta(seconds=4)
"""One that brings none, at least this often."""
REST = timedelta(seconds=1)
"""So long nobody listens for more writes to a screen that brings no news."""
SPINS_AFTER = 3
"""Looks in a row without news, each at a screen that had not settled."""
BEAT = timedelta(seconds=5)
"""Without any hint: what was told by files is found by then. Sessions wake together, which costs one wake-up."""
LOOK_AGAIN_AFTER = timedelta(seconds=60)
"""Without any hint, and with nothing told: a screen that was read a beat after the last hint is read again by then."""


@dataclass(slots=True)
class Pace:
    """The pace of one session: `hint` and `looked` are told to it, and `until_due` waits."""

    _dirty: anyio.Event = field(default_factory=anyio.Event)
    _settled: bool = True
    _without_news: int = 0
    """Looks in a row at a screen that had not settled."""
    _silent_beats: int = 1
    """After so many beats without a hint the screen is read all the same."""
    _settling: anyio.CancelScope | None = None

    @property
    def rest(self) -> timedelta:
        """How long writes may go unheard before the next one is waited for."""
        return REST if self._spins else timedelta(0)

    def hint(self) -> None:
        """Something may have changed: look soon."""
        self._dirty.set()

    def told(self) -> None:
        """Something has changed: look as soon as a screen can settle, whatever turns on it."""
        self._without_news = 0
        if self._settling is not None:
            limit = anyio.current_time() + LONGEST_SETTLE.total_seconds()
            self._settling.deadline = min(self._settling.deadline, limit)
        self._dirty.set()

    def looked(self, *, news: bool) -> None:
        self._without_news = 0 if news or self._settled else self._without_news + 1
        if news:
            self._silent_beats = 1

    async def until_due(self, is_told: Callable[[], bool]) -> None:
        """Return when the screen should be read. `is_told` says whether files hold something that was not read."""
        if await self._hinted(is_told):
            self._silent_beats = 1
            await self._settle()

    async def _hinted(self, is_told: Callable[[], bool]) -> bool:
        """Whether a hint came, before it was time to look without one."""
        for _ in range(self._silent_beats):
            with anyio.move_on_after(_until_next_beat_seconds()):
                await self._dirty.wait()
                return True
            if is_told():
                return False
        self._silent_beats = LOOK_AGAIN_AFTER // BEAT
        return False

    async def _settle(self) -> None:
        quiet = SETTLE + self.rest
        with anyio.move_on_after(self._longest.total_seconds()) as self._settling:
            while self._dirty.is_set():
                self._dirty = anyio.Event()
                with anyio.move_on_after(quiet.total_seconds()):
                    await self._dirty.wait()
        self._settled = not self._settling.cancelled_caught
        self._settling = None

    @property
    def _spins(self) -> bool:
        return self._without_news >= SPINS_AFTER

    @property
    def _longest(self) -> timedelta:
        if not self._spins:
            return LONGEST_SETTLE
        return min(LONGEST_SETTLE * (1 << min(self._without_news - SPINS_AFTER + 1, 8)), SELDOM)


def _until_next_beat_seconds() -> float:
    beat = BEAT.total_seconds()
    return beat - anyio.current_time() % beat
