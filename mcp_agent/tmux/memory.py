"""A terminal without tmux: for tests of everything above it, in virtual time.

A program is a callable that is handed its `MemoryPane` at the launch. It shows screens, sets `on_input`, and exits; a
test may do the same from outside.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream

from mcp_agent.errors import PaneDead, PaneGone, TmuxCommandFailed, TmuxUnavailable
from mcp_agent.tmux.memory_clock import MemoryClock
from mcp_agent.tmux.terminal import (
    DEFAULT_SIZE,
    Capture,
    ClockClosing,
    Died,
    IdleClock,
    Lost,
    PaneEvent,
    PaneInfo,
    PaneRef,
    check_launch,
    check_text,
)
from mcp_agent.tmux.ticks import check_clock
from mcp_agent.tmux.watching import Watchers


@dataclass(frozen=True, slots=True)
class Pasted:
    """One paste, as the program got it."""

    text: str


@dataclass(frozen=True, slots=True)
class Pressed:
    """One key, by its tmux name."""

    key: str


@dataclass(frozen=True, slots=True)
class Typed:
    """Characters that came as single keys."""

    text: str


Input = Pasted | Pressed | Typed


class MemoryPane:
    """A pane as its program sees it, and all that a test wants to know of it."""

    def __init__(self, terminal: "MemoryTerminal", ref: PaneRef, *, name: str, argv: Sequence[str], cwd: Path) -> None:
        self._terminal = terminal
        self.ref, self.name, self.argv, self.cwd = ref, name, tuple(argv), cwd
        self.environment: Mapping[str, str] = {}
        self.tags: Mapping[str, str] = {}
        self.size = DEFAULT_SIZE
        self.inputs: list[Input] = []
        self.on_input: Callable[[Input], None] = self.inputs.append
        """Called after the input was recorded; the default only records."""
        self.in_copy_mode = False
        """A person scrolls; leaving it is the terminal's business."""
        self.attended = False
        """Somebody is attached."""
        self.held = False
        """What people type is dropped."""
        self.screen = Capture((), (), "")
        self.end: Died | None = None
        self.clock: MemoryClock | None = None
        self.attached = False
        """Somebody looks at it; `attach` says so."""

    def show(self, *lines: str, dim_lines: Sequence[str] = (), title: str = "") -> None:
        """Draw the whole screen anew and tell the watchers."""
        self.screen = Capture(tuple(lines), tuple(dim_lines) or ("",) * len(lines), title)
        if self.clock:
            self.clock.saw_output()
        self._terminal.watchers.wrote(self.ref.pane_id)

    def attach(self, *, attached: bool) -> None:
        """Somebody attaches, or leaves."""
        self.attached = attached
        if self.clock:
            self.clock.attach(attached=attached)

    def exit(self, status: int = 0) -> None:
        """The program ends by itself."""
        self._die(Died(status, None))

    def kill(self, signal: int) -> None:
        """The program ends by a signal."""
        self._die(Died(None, signal))

    def vanish(self) -> None:
        """Somebody else closes the pane."""
        self._terminal.forget(self)

    def person_types(self, text: str) -> None:
        """Somebody who is attached types."""
        if not self.held:
            self.receive(Typed(text))

    def receive(self, received: Input) -> None:
        """Take one input, as the terminal hands it over."""
        self.in_copy_mode = False
        if self.on_input != self.inputs.append:
            self.inputs.append(received)
        self.on_input(received)

    @property
    def info(self) -> PaneInfo:
        status, signal = (self.end.exit_status, self.end.exit_signal) if self.end else (None, None)
        known = PaneInfo(self.ref, dict(self.tags), self.end is not None, status, signal, attached=self.attached)
        if self.clock is None:
            return known
        return replace(known, ticks=self.clock.reading.ticks, held=self.clock.held)

    def _die(self, end: Died) -> None:
        if self.end is None:
            self.end = end
            self._terminal.watchers.end(self.ref, end)


Program = Callable[[MemoryPane], None]


def _do_nothing(_pane: MemoryPane) -> None:
    """The program that shows nothing and never ends."""


class MemoryTerminal:
    """`Terminal` in memory. Every call is a checkpoint and takes no time."""

    def __init__(self, program: Program = _do_nothing) -> None:
        self.program = program
        """What the next `spawn` runs, whatever its argv says."""
        self.available = True
        """False makes every call raise `TmuxUnavailable`, as a hung or failing tmux does."""
        self.watchers = Watchers()
        self._panes: dict[PaneRef, MemoryPane] = {}
        self._closings: dict[str, ClockClosing] = {}
        self._numbers = count(1)

    def pane(self, ref: PaneRef) -> MemoryPane:
        """The inside of a pane. Raises `PaneGone`."""
        if ref not in self._panes:
            raise PaneGone(ref.pane_id)
        return self._panes[ref]

    def lose(self) -> None:
        """The whole tmux server dies, with every pane; later spawns find a new one."""
        for pane in list(self._panes.values()):
            self.forget(pane)

    def forget(self, pane: MemoryPane) -> None:
        """Drop a pane and tell its watchers."""
        if self._panes.pop(pane.ref, None):
            self.watchers.end(pane.ref, Lost())

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
        await self._checkpoint()
        check_launch(argv, tags)
        number = next(self._numbers)
        ref = PaneRef(f"%{number}", f"@{number}", f"${number}", 1_000_000_000 + number)
        pane = MemoryPane(self, ref, name=name, argv=argv, cwd=cwd)
        pane.environment, pane.tags, pane.size = dict(environment), dict(tags), size
        self._panes[ref] = pane
        self.program(pane)
        return ref

    async def capture(self, pane: PaneRef) -> Capture:
        await self._checkpoint()
        return self.pane(pane).screen

    async def paste(self, pane: PaneRef, text: str) -> None:
        check_text(text)
        try:
            living = await self._living(pane)
        except TmuxUnavailable as error:
            raise TmuxCommandFailed("load-buffer", str(error)) from error
        living.receive(Pasted(text))

    async def press(self, pane: PaneRef, *keys: str) -> None:
        living = await self._living(pane)
        for key in keys:
            living.receive(Pressed(key))

    async def type_text(self, pane: PaneRef, text: str) -> None:
        check_text(text)
        (await self._living(pane)).receive(Typed(text))

    @asynccontextmanager
    async def alone(self, pane: PaneRef) -> AsyncGenerator[bool]:
        living = await self._living(pane)
        living.held = True
        try:
            yield living.attended
        finally:
            living.held = False

    async def panes(self) -> list[PaneInfo]:
        await self._checkpoint()
        return [pane.info for pane in self._panes.values() if pane.tags]

    async def exit_of(self, pane: PaneRef) -> PaneInfo | None:
        await self._checkpoint()
        return self._panes[pane].info if pane in self._panes else None

    async def close(self, pane: PaneRef) -> None:
        await self._checkpoint()
        if pane in self._panes:
            self.forget(self._panes[pane])

    async def set_clock(self, pane: PaneRef, clock: IdleClock | None) -> None:
        await self._checkpoint()
        inside = self.pane(pane)
        if clock:
            check_clock(clock)
        inside.clock = MemoryClock(clock) if clock else None
        inside.attach(attached=inside.attached)

    async def take_closing(self, name: str) -> ClockClosing | None:
        await self._checkpoint()
        return self._closings.pop(name, None)

    @asynccontextmanager
    async def watch(self, pane: PaneRef) -> AsyncGenerator[MemoryObjectReceiveStream[PaneEvent]]:
        async with self.watchers.watch(pane) as events:
            if pane not in self._panes:
                self.watchers.end(pane, Lost())
            elif end := self._panes[pane].end:
                self.watchers.end(pane, end)
            yield events

    async def _living(self, ref: PaneRef) -> MemoryPane:
        await self._checkpoint()
        pane = self.pane(ref)
        if pane.end:
            raise PaneDead(ref.pane_id)
        return pane

    async def _checkpoint(self) -> None:
        await anyio.lowlevel.checkpoint()
        if not self.available:
            raise TmuxUnavailable("the terminal does not answer")
        self._let_clocks_close()

    def _let_clocks_close(self) -> None:
        for pane in list(self._panes.values()):
            if pane.clock and (closing := pane.clock.closing):
                self._closings[pane.clock.name] = closing
                self.forget(pane)
