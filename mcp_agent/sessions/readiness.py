"""The prompt-readiness clock: how long a starting CLI may show no progress.

Activity is a change of content or a handled dialog. Spinners, counters and clocks move without anything happening, so
they are taken out before two screens are compared.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

_VOLATILE = re.compile(r"[\d⠀-⣿◐◑◒◓·✢✳✶✻✽*|/\\-]+")


def content(lines: Sequence[str]) -> str:
    """The lines without what moves by itself."""
    return "\n".join(_VOLATILE.sub("", line).strip() for line in lines)


@dataclass(slots=True)
class ReadinessClock:
    """Two bounds on the way to the first prompt, on the monotonic clock. None as `absolute`: only the first one."""

    inactivity: timedelta
    absolute: timedelta | None
    started_seconds: float
    active_seconds: float = 0.0
    _content: str = ""

    def __post_init__(self) -> None:
        self.active_seconds = self.started_seconds

    def saw(self, lines: Sequence[str], *, now_seconds: float) -> None:
        """A screen was read: new content restarts the inactivity bound."""
        seen = content(lines)
        if seen != self._content:
            self._content, self.active_seconds = seen, now_seconds

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
