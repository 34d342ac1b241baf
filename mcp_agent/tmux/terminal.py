"""What a session needs of a terminal, and the facts it is told.

Two implementations pass one contract test: `panes.TmuxTerminal` (real panes) and `memory.MemoryTerminal` (a double
for virtual time).
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from anyio.streams.memory import MemoryObjectReceiveStream

DEFAULT_SIZE = (120, 36)
"""Columns and rows of a pane to which nobody is attached."""


@dataclass(frozen=True, slots=True)
class PaneRef:
    """One pane, by ids that tmux never gives to another one while its server lives."""

    pane_id: str
    window_id: str
    tmux_session_id: str
    pid: int
    """The program itself; no shell stands in between."""


@dataclass(frozen=True, slots=True)
class Capture:
    """The visible region of a pane. Lines are joined over wraps and right-stripped."""

    lines: tuple[str, ...]
    dim_lines: tuple[str, ...]
    """The same lines with only their dim characters (SGR 2) kept, spaces in place of the rest, right-stripped."""
    title: str
    printed: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """The lines as tmux printed them; see `screen.styled`."""


@dataclass(frozen=True, slots=True)
class PaneInfo:
    """What is known of a pane that exists. Status and signal are None while it lives."""

    pane: PaneRef
    tags: Mapping[str, str]
    dead: bool
    exit_status: int | None
    exit_signal: int | None
    ticks: int | None = None
    """Idle ticks of its clock; None when it has none."""
    held: bool = False
    """Its clock stands still."""
    attached: bool = False
    """Somebody looks at it."""


@dataclass(frozen=True, slots=True)
class IdleClock:
    """A clock that closes its pane by itself, with every process of ours dead. Counted in ticks, never in wall time."""

    name: str
    """What the closing is found by: letters, digits, `_` and `-`."""
    interval: timedelta
    close_after: int
    """Ticks without output of the program or anybody attached, and without a hold, after which the pane is closed."""
    abandon_after: int
    """Ticks without anybody attached or the clock being set anew that close the pane, held or not."""
    ticks: int = 0
    """Where it begins."""
    held: bool = False
    """It counts nothing but the ticks that make it abandoned."""
    then: tuple[str, ...] = ()
    """A program, as argv, that is run after the pane was closed by the clock."""


@dataclass(frozen=True, slots=True)
class ClockClosing:
    """That a clock closed its pane: the ticks that it had counted by then."""

    quiet_ticks: int
    unset_ticks: int
    interval_seconds: float


@dataclass(frozen=True, slots=True)
class Wrote:
    """The program wrote something, or may have: capture again. Events that were not read yet are merged into one."""


@dataclass(frozen=True, slots=True)
class Died:
    """The program ended; the pane stays with its last screen. Last event of a watch."""

    exit_status: int | None
    exit_signal: int | None


@dataclass(frozen=True, slots=True)
class Lost:
    """The pane is gone, or its whole tmux server is. Last event of a watch."""


_TAG = re.compile(r"[A-Za-z0-9_]+")


def check_launch(argv: Sequence[str], tags: Mapping[str, str]) -> None:
    """Raise `ValueError` for a launch that no terminal takes."""
    if not argv:
        raise ValueError("a pane needs a program")
    if not tags or not all(map(_TAG.fullmatch, tags)):
        raise ValueError("a pane needs tags, with keys of letters, digits and _")


def check_text(text: str) -> None:
    """Raise `ValueError` for a text that cannot be pasted."""
    if not text:
        raise ValueError("there is no text to paste")


PaneEvent = Wrote | Died | Lost


class Terminal(Protocol):
    """Panes that run programs. A call that fails or is slow raises `TmuxUnavailable`: that is never absence."""

    async def spawn(
        self,
        *,
        name: str,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        tags: Mapping[str, str],
        size: tuple[int, int] = DEFAULT_SIZE,
    ) -> PaneRef:
        """Run a program in a new pane. It sees `environment` over the server's own minimal one, but the pane's `TERM`.

        `name` is for people and made unique; nothing is ever found by it. There must be tags; their keys are letters,
        digits and `_`. A program that cannot be run is a pane that dies with status 126 or 127. What a program wrote
        right before it died may be missing from its screen: tmux can close the terminal before it reads that.
        """
        ...

    async def capture(self, pane: PaneRef) -> Capture:
        """The screen as it is now, of a dead pane too. Raises `PaneGone`."""
        ...

    async def paste(self, pane: PaneRef, text: str) -> None:
        """Place the text as one bracketed paste, byte for byte. Raises `PaneDead` or `PaneGone`, with nothing sent.

        Control bytes go through as they are, `ESC[201~` too: what would end the paste early is the caller's to refuse.
        After `TmuxUnavailable` it may or may not have arrived, or still arrive; after `TmuxCommandFailed` it did not
        and will not. Raises `ValueError` for no text at all.
        """
        ...

    async def press(self, pane: PaneRef, *keys: str) -> None:
        """Press keys by their tmux names, such as `Enter`, `Escape`, `C-u`. Raises `PaneDead` or `PaneGone`."""
        ...

    async def type_text(self, pane: PaneRef, text: str) -> None:
        """Type the text as single keys, as a person would; one short line. Raises as `press` does."""
        ...

    def alone(self, pane: PaneRef) -> AbstractAsyncContextManager[bool]:
        """Whatever people who are attached type into the pane meanwhile is dropped; what we paste and press is not.

        Gives whether anybody is attached, whose last keys may be on their way still. For moments: after five seconds
        the pane takes people's keys again. Raises `PaneDead` or `PaneGone`.
        """
        ...

    async def panes(self) -> list[PaneInfo]:
        """Every pane that carries tags of ours, dead ones included."""
        ...

    async def exit_of(self, pane: PaneRef) -> PaneInfo | None:
        """What became of a pane; None when it is gone."""
        ...

    async def close(self, pane: PaneRef) -> None:
        """End the pane and hang up its program. A pane that is gone is fine."""
        ...

    async def set_clock(self, pane: PaneRef, clock: IdleClock | None) -> None:
        """Give the pane a clock, in place of the one that it may have; None takes it away. Raises `PaneGone`.

        Raises `ValueError` for a clock that cannot be kept.
        """
        ...

    async def take_closing(self, name: str) -> ClockClosing | None:
        """What the clock of this name did, told once; None when it closed nothing that this terminal knows of."""
        ...

    def watch(self, pane: PaneRef) -> AbstractAsyncContextManager[MemoryObjectReceiveStream[PaneEvent]]:
        """Events of a pane from now on; an end that already happened is told at once."""
        ...
