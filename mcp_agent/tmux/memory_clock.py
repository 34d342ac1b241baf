"""The idle clock of a pane in memory, counted on the event loop's clock: virtual time moves it."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

import anyio

from mcp_agent.tmux.terminal import ClockClosing, IdleClock


class Counters(NamedTuple):
    """Ticks since the clock was set, since the program wrote something, and those that even a hold counts."""

    ticks: int
    quiet: int
    unset: int


@dataclass(slots=True)
class MemoryClock:
    """One clock. It counts when it is asked, so it closes its pane no sooner than somebody looks."""

    clock: IdleClock
    _counters: Counters = field(init=False)
    _counted: int = 0
    """The ticks that are in the counters, of those since the start."""
    _started_seconds: float = field(default_factory=anyio.current_time)
    _wrote: bool = False
    _attached: bool = False

    def __post_init__(self) -> None:
        self._counters = Counters(self.clock.ticks, self.clock.ticks, 0)

    @property
    def name(self) -> str:
        return self.clock.name

    @property
    def held(self) -> bool:
        return self.clock.held

    @property
    def reading(self) -> Counters:
        """The counters as they are now."""
        passed = int((anyio.current_time() - self._started_seconds) / self.clock.interval.total_seconds() + 1e-9)
        while self._counted < passed:
            self._counted += 1
            self._tick()
        return self._counters

    @property
    def closing(self) -> ClockClosing | None:
        """What the clock has to say for closing its pane; None while it does not."""
        _, quiet, unset = self.reading
        if quiet < self.clock.close_after and unset < self.clock.abandon_after:
            return None
        return ClockClosing(quiet, unset, self.clock.interval.total_seconds())

    def saw_output(self) -> None:
        """The program wrote something: the next tick finds it."""
        assert self.reading
        self._wrote = True

    def attach(self, *, attached: bool) -> None:
        """Somebody attached, or left."""
        assert self.reading
        self._attached = attached

    def skip(self, duration: timedelta) -> None:
        """So much of the time that passes is not counted, as when the machine sleeps or the terminal stands still."""
        assert self.reading
        self._started_seconds += duration.total_seconds()

    def _tick(self) -> None:
        ticks, quiet, unset = self._counters
        wrote, self._wrote = self._wrote, False
        if self._attached:
            self._counters = Counters(0, 0, 0)
        elif self.clock.held:
            self._counters = Counters(ticks, 0 if wrote else quiet, unset + 1)
        else:
            self._counters = Counters(ticks + 1, 0 if wrote else quiet + 1, unset + 1)
