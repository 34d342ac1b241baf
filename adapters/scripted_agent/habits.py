"""What an interface with quirks does besides: commands behind a popup, a shell mode, a draft that stays, a spinner."""

import time
from collections.abc import Callable

from adapters.scripted_agent import wording
from adapters.scripted_agent.quirks import TICK_SECONDS, Quirks, Record


class Habits:
    """The quirks of one composer, and the record of what it took."""

    def __init__(self, quirks: Quirks, record: Record, clock: Callable[[], float] = time.monotonic) -> None:
        self._quirks, self._record, self._clock = quirks, record, clock
        self._to_eat = quirks.eats_enters
        self._completed: str | None = None
        self._stale, self._stale_until = "", 0.0
        self._since: float | None = None

    def edited(self, draft: str, *, before: str) -> None:
        """The draft was changed by typing or pasting."""
        if self._quirks.modes and draft.startswith("!") and not before.startswith("!"):
            self._record.note("mode", "shell")

    def keeps(self, draft: str) -> bool:
        """Whether this Enter is eaten: by the popup of commands, once for each, or by nothing in particular."""
        if self._to_eat:
            self._to_eat -= 1
            return True
        if not self._offers(draft):
            return False
        self._completed = draft
        return True

    def takes(self, draft: str) -> bool:
        """Whether a submitted draft was a command or for the shell, and no prompt."""
        kind = {"/": "command", "!": "shell"}.get(draft[:1]) if self._quirks.modes else None
        self._completed = None
        if kind is not None:
            self._record.note(kind, draft)
        return kind is not None

    def submitted(self, prompt: str, *, draft: str) -> None:
        """A prompt was taken, which stood in the composer as this draft."""
        self._record.note("submit", prompt)
        self._stale, self._stale_until = draft, self._clock() + self._quirks.draft_stays_seconds

    def drawn(self, draft: str) -> str:
        """What is drawn for a draft: an empty one may still show the last."""
        return draft or (self._stale if self._clock() < self._stale_until else "")

    def status(self, draft: str, *, is_working: bool) -> str:
        """A row above the composer."""
        if self._offers(draft):
            return wording.COMMANDS
        if not (self._quirks.ticks and is_working):
            self._since = None
            return ""
        now = self._clock()
        self._since = now if self._since is None else self._since
        seconds = now - self._since
        glyph = wording.SPINNER[round(now / TICK_SECONDS) % len(wording.SPINNER)]
        return wording.SPINNING.format(glyph=glyph, seconds=int(seconds), tokens=seconds / 10 + 1)

    def _offers(self, draft: str) -> bool:
        return self._quirks.modes and draft.startswith("/") and draft != self._completed
