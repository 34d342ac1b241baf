"""When somebody's time is over: an epoch on disk, compared with the wall clock when it is due.

A wall clock that jumps ahead of the time that really passed, since somebody set it or the machine slept, ends nothing
at once: whoever can still finish has some time to.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import anyio

LOOK_AGAIN_AFTER = timedelta(seconds=30)
JUMPED = timedelta(seconds=5)
GRACE = timedelta(seconds=60)
"""How long nothing is ended after the clock jumped."""


@dataclass(slots=True, eq=False)
class Deadlines:
    """Tells `expire` of every key whose deadline has passed. `keep` must run."""

    expire: Callable[[str], object]
    clock: Callable[[], float] = time.time
    _due: dict[str, float] = field(default_factory=dict)
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _not_before: float = 0.0
    """On the loop's clock."""

    def watch(self, key: str, deadline_at: float | None) -> None:
        """The deadline is a wall-clock epoch; None: there is none."""
        if deadline_at is not None and math.isfinite(deadline_at):
            self._due[key] = deadline_at
            changed, self._changed = self._changed, anyio.Event()
            changed.set()

    def forget(self, key: str) -> None:
        self._due.pop(key, None)

    async def keep(self) -> None:
        while True:
            for key in self._passed():
                del self._due[key]
                self.expire(key)
            began, wall, changed = anyio.current_time(), self.clock(), self._changed
            with anyio.move_on_after(self._rest(wall)):
                await changed.wait()
            self._look_at_clock(passed=anyio.current_time() - began, told=self.clock() - wall)

    def _passed(self) -> list[str]:
        if anyio.current_time() < self._not_before:
            return []
        now = self.clock()
        return [key for key, due in self._due.items() if due <= now]

    def _rest(self, now: float) -> float:
        """How long nothing can be due."""
        if not self._due:
            return float("inf")
        until_due = min(self._due.values()) - now
        until_due = max(until_due, self._not_before - anyio.current_time(), 0.001)
        return min(until_due, LOOK_AGAIN_AFTER.total_seconds())

    def _look_at_clock(self, *, passed: float, told: float) -> None:
        if told - passed > JUMPED.total_seconds():
            self._not_before = anyio.current_time() + GRACE.total_seconds()
