"""One live session: what its pane, its events and its transcript say, folded into one status.

Everything is level-triggered: a hint that something changed leads to one more look at the screen, the spooled events
and the transcript, so that a lost hint costs time and never truth.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

import anyio

from mcp_agent.adapter import Adapter, PromptAccepted, Screen, SessionIdentified, TurnEnded
from mcp_agent.errors import PaneGone, TmuxUnavailable
from mcp_agent.sessions.events import EventSpool, TranscriptTail
from mcp_agent.sessions.record import SessionRecord
from mcp_agent.sessions.signals import ENDED, BridgeUp, Exited, SessionSignal, SessionState, Status, Vanished, reduce
from mcp_agent.sessions.turns import Turn, Turns
from mcp_agent.tmux.terminal import Died, Lost, PaneRef, Terminal, Wrote

log = logging.getLogger(__name__)

SETTLE = timedelta(milliseconds=150)
"""A screen is read when nothing was written for this long."""
LONGEST_SETTLE = timedelta(milliseconds=500)
"""A spinner never settles, so a screen is read at least this often while something is written."""
RETRY_AFTER = timedelta(seconds=1)


@dataclass(slots=True)
class ExpectedPrompt:
    """Evidence that one text was taken as a prompt. `turn` is None until it came."""

    text: str
    arrived: anyio.Event = field(default_factory=anyio.Event)
    turn: Turn | None = None
    joined: bool = False
    """The text was taken into a turn that was already running."""


@dataclass(slots=True)
class LiveSession:
    """A session whose CLI was launched. `observe` must run for the status to move."""

    record: SessionRecord
    adapter: Adapter
    terminal: Terminal
    spool: EventSpool
    tail: TranscriptTail
    token: str = field(repr=False)
    on_record: Callable[[SessionRecord], None] = lambda _: None
    status: Status = field(default_factory=Status)
    turns: Turns = field(default_factory=Turns)
    screen: Screen = field(default_factory=lambda: Screen(()))
    input_lock: anyio.Lock = field(default_factory=anyio.Lock)
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _dirty: anyio.Event = field(default_factory=anyio.Event)
    _expected: list[ExpectedPrompt] = field(default_factory=list)
    _reading: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def state(self) -> SessionState:
        return self.status.state

    @property
    def pane(self) -> PaneRef:
        if self.record.pane is None:
            raise PaneGone("(none yet)")
        return self.record.pane

    async def observe(self) -> None:
        """Keep the status true until the CLI or its pane is gone."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._read_when_dirty)
            await self._watch_pane()
            group.cancel_scope.cancel()
        self._drain()

    def hint(self) -> None:
        """Something may have changed: look again soon."""
        self._dirty.set()

    def take_events(self) -> None:
        """Events were spooled: take them now, and look at the screen soon."""
        self._drain()
        self.hint()

    def bridge_is_up(self) -> None:
        if not self.status.bridge_up:
            self.apply(BridgeUp())

    def apply(self, signal: SessionSignal) -> None:
        """Fold one signal in and wake everyone who waits for a change."""
        if isinstance(signal, PromptAccepted):
            self._accept(signal)
        elif isinstance(signal, TurnEnded):
            self.turns.end(signal)
        elif isinstance(signal, SessionIdentified):
            self._identify(signal)
        self.status = reduce(self.status, signal)
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_until(self, holds: Callable[[], bool], *, limit: timedelta) -> bool:
        """True as soon as the condition holds, False when the limit passed first."""
        with anyio.move_on_after(limit.total_seconds()):
            while not holds():
                await self._changed.wait()
            return True
        return holds()

    def expect_prompt(self, text: str) -> ExpectedPrompt:
        """Ask to be told when this text is taken as a prompt; `forget_prompt` takes the request back."""
        expected = ExpectedPrompt(text)
        self._expected.append(expected)
        return expected

    def forget_prompt(self, expected: ExpectedPrompt) -> None:
        with suppress(ValueError):
            self._expected.remove(expected)

    async def look(self) -> Screen:
        """Read events, transcript and screen now. Raises `TmuxUnavailable` or `PaneGone`."""
        async with self._reading:
            self._drain()
            capture = await self.terminal.capture(self.pane)
            self.screen = Screen(capture.lines, capture.title, capture.dim_lines)
            readings = self.adapter.read(self.screen)
            for signal in readings or ():
                self.apply(signal)
            if not readings:
                self.apply_nothing_seen()
            return self.screen

    def apply_nothing_seen(self) -> None:
        """The screen says nothing: a dialog that stood there is gone, and the waiters may compare its content."""
        if self.state in {SessionState.BLOCKED, SessionState.WAITING}:
            self.status = replace(self.status, reading=None)
        self._changed.set()
        self._changed = anyio.Event()

    def _drain(self) -> None:
        for event in self.spool.take():
            self._apply_all(self.adapter.read_event(event))
        self._apply_all(self.adapter.read_transcript(self.tail.take()))

    def _apply_all(self, signals: Iterable[SessionSignal]) -> None:
        for signal in signals:
            self.apply(signal)

    def _accept(self, accepted: PromptAccepted) -> None:
        joins = accepted.queued or self.turns.current is not None
        turn = self.turns.accept(accepted.text)
        for expected in self._expected:
            if expected.turn is None and same_words(expected.text, accepted.text):
                expected.turn, expected.joined = turn, joins
                expected.arrived.set()
                return

    def _identify(self, identified: SessionIdentified) -> None:
        self.record = replace(
            self.record, native_session_id=identified.native_session_id, transcript=identified.transcript
        )
        self.tail.follow(identified.transcript)
        self.on_record(self.record)

    async def _watch_pane(self) -> None:
        async with self.terminal.watch(self.pane) as events:
            self.hint()
            async for event in events:
                match event:
                    case Wrote():
                        self.hint()
                    case Died(exit_status=status, exit_signal=signal):
                        self.apply(Exited(status, signal))
                    case Lost():
                        self.apply(Vanished())
                if self.state in ENDED:
                    return

    async def _read_when_dirty(self) -> None:
        while True:
            await self._dirty.wait()
            await self._settle()
            try:
                await self.look()
            except TmuxUnavailable as error:
                log.warning("session %s: %s; trying again", self.id, error)
                await anyio.sleep(RETRY_AFTER.total_seconds())
                self.hint()
            except PaneGone:
                return

    async def _settle(self) -> None:
        with anyio.move_on_after(LONGEST_SETTLE.total_seconds()):
            while self._dirty.is_set():
                self._dirty = anyio.Event()
                with anyio.move_on_after(SETTLE.total_seconds()):
                    await self._dirty.wait()


def same_words(one: str, other: str) -> bool:
    """CLIs strip the ends and wrap the middle; the words and their order stay."""
    return one.split() == other.split()
