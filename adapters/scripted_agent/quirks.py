"""Bad habits of real terminal programs, for tests of whoever drives them. Without the variable there are none."""

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adapters.scripted_agent.config import ConfigError
from adapters.scripted_agent.keys import Key, KeyPress, Typed

VARIABLE = "SCRIPTED_AGENT_QUIRKS"
"""Holds a JSON object with fields of `Quirks`."""

TICK_SECONDS = 0.1
LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Quirks:
    """What the program does worse than it could. Paths are strings, as they come from JSON."""

    record: str | None = None
    """Each read, paste, submission, command and mode is added to this file as a line of JSON."""
    enter_joins_seconds: float = 0.0
    """An Enter that follows other input sooner than this is a new line of the draft."""
    eats_enters: int = 0
    """So many presses of Enter do nothing."""
    modes: bool = False
    """A leading `/` is a command, whose popup eats the first Enter; a leading `!` is for a shell."""
    draft_stays_seconds: float = 0.0
    """A submitted draft is still drawn for this long."""
    ticks: bool = False
    """While it works, a spinner and a counter move ten times a second."""
    ghost: str = ""
    """Dim words that are suggested in an empty composer."""
    scrollback: tuple[str, ...] = ()
    """Rows that were printed, and scrolled away, before the program's own screen."""
    footer: tuple[str, ...] = ()
    """More rows below the composer's own footer."""
    yes_first: bool = False
    """The trust question offers its options the other way round."""
    brackets: bool = True
    """Pastes are asked to be bracketed."""
    draw_lags_seconds: float = 0.0
    """Each frame comes this late."""
    reads_after: str | None = None
    """Input is read only once this file is there."""
    thinks_until: str | None = None
    """The model answers only once this file is there."""
    exit_status: int | None = None
    """A submitted prompt ends the program with this status."""
    tells: bool = True
    """Events are delivered; otherwise the transcript alone has them."""
    loses: tuple[str, ...] = ()
    """Events of these kinds are told by nothing, the transcript included."""

    @property
    def moves(self) -> bool:
        """The screen changes though nothing happens."""
        return self.ticks or self.draft_stays_seconds > 0


def load(environ: Mapping[str, str] = os.environ) -> Quirks:
    """The quirks that the environment names. Raises `ConfigError`."""
    try:
        return Quirks(**json.loads(environ.get(VARIABLE) or "{}"))
    except (ValueError, TypeError) as problem:
        raise ConfigError(f"{VARIABLE}: {problem}") from problem


@dataclass(slots=True)
class Joiner:
    """Makes an Enter that comes too soon after other input a new line."""

    window_seconds: float
    _other_seconds: float = float("-inf")

    def join(self, press: KeyPress, *, now_seconds: float) -> KeyPress:
        if press is not Key.ENTER:
            self._other_seconds = now_seconds
        elif now_seconds - self._other_seconds < self.window_seconds:
            return Typed("\n")
        return press


def wait_for(path: str | None) -> None:
    """Return once the file is there, at once without a name."""
    while path is not None and not Path(path).exists():
        time.sleep(LOOK_SECONDS)


def every_tick(act: Callable[[], None]) -> None:
    """Call this ten times a second, from a thread of its own."""

    def run() -> None:
        while True:
            time.sleep(TICK_SECONDS)
            act()

    threading.Thread(target=run, name="ticks", daemon=True).start()


@dataclass(slots=True)
class Record:
    """What the program took, as evidence. Safe to be written from several threads."""

    path: str | None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, text: str) -> None:
        if self.path is not None:
            line = json.dumps({"kind": kind, "text": text})
            with self._lock, Path(self.path).open("a", encoding="utf-8") as file:
                file.write(line + "\n")
