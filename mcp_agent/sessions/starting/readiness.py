"""The prompt-readiness clock: how long a starting CLI may show no progress.

Activity is a screen with content that was not there before, or a handled dialog. Spinners, counters and clocks move
without anything happening, so they are taken out before screens are compared, and frames that come back count once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

_NUMBERS = re.compile(r"\d[\d.,:]*(?:[A-Za-z]{1,3}\b|%)?")
"""Numbers with their units, so that `59s` and `1m 0s` are the same."""
_MOVING = re.compile(r"[\u2800-\u28ff\u2580-\u25ff\u2720-\u274b·*|/\\.…-]+")
"""Braille, blocks, circles, stars and dots: what spinners and progress bars are made of."""


def content(lines: Sequence[str]) -> str:
    """The words without what moves by itself, wherever they stand."""
    return " ".join(_MOVING.sub(" ", _NUMBERS.sub(" ", "\n".join(lines))).split())


@dataclass(slots=True)
class ReadinessClock:
    """Two bounds on the way to the first prompt, on the monotonic clock. None as `absolute`: only the first one."""

    inactivity: timedelta
    absolute: timedelta | None
    started_seconds: float
    active_seconds: float = 0.0
    _seen: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.active_seconds = self.started_seconds

    def saw(self, lines: Sequence[str], *, now_seconds: float) -> None:
        """A screen was read: content not seen before restarts the inactivity bound."""
        seen = content(lines)
        if seen not in self._seen:
            self._seen.add(seen)
            self.active_seconds = now_seconds

    def handled_dialog(self, *, now_seconds: float) -> None:
        self.active_seconds = now_seconds

    def remaining(self, *, now_seconds: float) -> timedelta:
        """Until the nearer bound; not positive when it has passed."""
        left = self.inactivity.total_seconds() - (now_seconds - self.active_seconds)
        if self.absolute is not None:
            left = min(left, self.absolute.total_seconds() - (now_seconds - self.started_seconds))
        return timedelta(seconds=left)

    def passed(self, *, now_seconds: float) -> tuple[str, timedelta] | None:
        """Which bound has passed, and its length; None when none has."""
        if now_seconds - self.active_seconds >= self.inactivity.total_seconds():
            return "inactivity", self.inactivity
        if self.absolute is not None and now_seconds - self.started_seconds >= self.absolute.total_seconds():
            return "absolute", self.absolute
        return None
