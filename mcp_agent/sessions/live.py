"""One live session: what its pane, its events and its transcript say, folded into one status.

Everything is level-triggered: a hint that something changed leads to one more look at the screen, the spooled events
and the transcript, so that a lost hint costs time and never truth.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

import anyio

from mcp_agent.adapter import (
    Adapter,
    Answered,
    PromptAccepted,
    PromptQueued,
    Screen,
    SessionIdentified,
    Signal,
    TurnEnded,
    UsageReported,
)
from mcp_agent.errors import PaneGone, TmuxError
from mcp_agent.sessions.events import EventSpool, TranscriptTail
from mcp_agent.sessions.looking import Pace
from mcp_agent.sessions.record import SessionRecord
from mcp_agent.sessions.signals import (
    ENDED,
    BridgeUp,
    Exited,
    Interrupting,
    Reading,
    Seen,
    SessionSignal,
    SessionState,
    Status,
    Stopped,
    Vanished,
    reduce,
)
from mcp_agent.sessions.store.progress import Progress
from mcp_agent.sessions.turn_order import TurnOrder, begins_another
from mcp_agent.sessions.turns import Turn, Turns, cut_short
from mcp_agent.sessions.words import begins_with, same_words
from mcp_agent.tmux.terminal import Died, Lost, PaneRef, Terminal, Wrote

log = logging.getLogger(__name__)

T = TypeVar("T")

RETRY_AFTER = timedelta(seconds=1)
LAST_LOOK_WITHIN = timedelta(seconds=2)
MOST_HANDED = 64
UNSETTLED = frozenset({SessionState.STARTING, SessionState.BLOCKED})
"""Somebody waits for any change of the screen."""


@dataclass(slots=True)
class ExpectedPrompt:
    """Evidence that one text was taken as a prompt. `turn` is None until it came."""

    text: str
    turn: Turn | None = None
    joined: bool = False
    """The text was taken into a turn that was already running."""
    message_id: str | None = None


@dataclass(slots=True)
class LiveSession:
    """A session whose CLI was launched. `observe` must run for the status to move."""

    record: SessionRecord
    adapter: Adapter
    opened: Terminal | None
    """None when the terminal was gone before anybody could look."""
    spool: EventSpool
    tail: TranscriptTail
    token: str = field(repr=False)
    on_record: Callable[[SessionRecord], None] = lambda _: None
    status: Status = field(default_factory=Status)
    turns: Turns = field(default_factory=Turns)
    taken: tuple[str, ...] = ()
    """Spooled events that were taken, and are removed once what they led to is on disk."""
    bridge_gone: bool = False
    """Its bridge came up, and has ended since."""
    screen: Screen = field(default_factory=lambda: Screen(()))
    send_lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Sends wait here for each other, so that an interrupt waits for one of them at most."""
    input_lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Held by whoever pastes or presses."""
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _pace: Pace = field(default_factory=Pace)
    _expected: list[ExpectedPrompt] = field(default_factory=list)
    _reading: anyio.Lock = field(default_factory=anyio.Lock)
    _order: TurnOrder = field(default_factory=TurnOrder)
    _handed: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_HANDED))
    """Names of events that were handed over, because they could not be spooled."""

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def state(self) -> SessionState:
        return self.status.state

    @property
    def over(self) -> str | None:
        """How the session ended; None while it lives."""
        if self.state not in ENDED:
            return None
        return f"{self.state} ({self.status.detail})" if self.status.detail else str(self.state)

    @property
    def terminal(self) -> Terminal:
        """Raises `PaneGone`."""
        if self.opened is None:
            raise PaneGone("(none)")
        return self.opened

    @property
    def pane(self) -> PaneRef:
        """Raises `PaneGone`."""
        if self.record.pane is None:
            raise PaneGone("(none)")
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
        self._pace.hint()

    def take_events(self) -> None:
        """Events were spooled: take them now, and look at the screen soon."""
        self._drain()
        self._pace.told()

    def take_handed(self, name: str, event: Mapping[str, object]) -> None:
        """Take an event that could not be spooled, after those that were. Told again under its name, it counts once."""
        self._drain()
        if name not in self._handed:
            self._handed.append(name)
            with self.turns.store.together():
                self._take(event)
                self.save_progress()
        self._pace.told()

    def bridge_is_gone(self) -> None:
        """The bridge ended, and the CLI goes on without its tools."""
        self.bridge_gone = True
        self.tell("session.bridge_gone")

    def bridge_is_up(self) -> None:
        if self.bridge_gone:
            self.bridge_gone = False
            self.return_to(self.status)
        if not self.status.bridge_up:
            self.record = replace(self.record, bridge_up=True)
            self.on_record(self.record)
            self.apply(BridgeUp())

    def apply(self, signal: SessionSignal) -> None:
        """Fold one signal in and wake everyone who waits for a change."""
        before = (self.state, self.status.detail)
        self._note(signal)
        self.status = reduce(self.status, signal)
        if self.status.end is not None and self.turns.current is not None:
            self.turns.end(cut_short(self.status.end))
        if self.status.limited != self.record.limited:
            self.record = replace(self.record, limited=self.status.limited)
            self.on_record(self.record)
        if (self.state, self.status.detail) != before:
            self.tell("session.state", state=self.state, detail=self.status.detail, before=before[0])
        self._changed.set()
        self._changed = anyio.Event()

    def tell(self, kind: str, /, **facts: object) -> None:
        """Something happened that people and programs who follow the session's events want to know."""
        self.turns.store.tell(self.id, kind, **facts)

    def begin_again(self, record: SessionRecord, token: str) -> None:
        """A new CLI goes on under this session: of the earlier one its turns are left, and none runs."""
        if self.turns.current is not None:
            self.apply(self.status.end or Vanished())
        self.record, self.token, self.screen, self.bridge_gone = record, token, Screen(()), False
        self.return_to(Status())

    def return_to(self, status: Status) -> None:
        """Take this status, whatever was before, and wake everyone who waits for a change."""
        before, self.status = self.state, status
        if self.state is not before:
            self.tell("session.state", state=self.state, detail=self.status.detail, before=before)
        self._changed.set()
        self._changed = anyio.Event()

    def nudge(self) -> None:
        """Something that the status does not show has changed: whoever waits looks again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def wait_until(self, holds: Callable[[], bool], *, limit: timedelta) -> bool:
        """True as soon as the condition holds, False when the limit passed first."""
        with anyio.move_on_after(limit.total_seconds()):
            while not holds():
                await self._changed.wait()
            return True
        return holds()

    def expect(self, expected: ExpectedPrompt) -> None:
        """Ask to be told when a text is taken as a prompt, before all who asked earlier, until `forget_prompt`."""
        self._expected.insert(0, expected)

    def forget_prompt(self, expected: ExpectedPrompt) -> None:
        with suppress(ValueError):
            self._expected.remove(expected)

    async def look(self) -> Screen:
        """Read events, transcript and screen now. Raises `TmuxUnavailable` or `PaneGone`."""
        async with self._reading:
            self._drain()
            capture = await self.terminal.capture(self.pane)
            self.screen = Screen(capture.lines, capture.title, capture.dim_lines)
            said = self._asked(self.adapter.read, self.screen)
            self._apply_all(signal for signal in said if not isinstance(signal, Reading))
            self.apply(Seen(tuple(signal for signal in said if isinstance(signal, Reading))))
            return self.screen

    def _drain(self) -> None:
        """Take what was spooled. An event is removed only once what it led to is on disk."""
        for name, event in self.spool.untaken(self.taken):
            with self.turns.store.together():
                if name.removesuffix(".json") not in self._handed:
                    self._take(event)
                self.taken = (*self.taken, name)
                self.save_progress()
        self._read_transcript()
        if self.taken and self.turns.store.write():
            for name in self.taken:
                self.spool.remove(name)
            self.taken = ()

    def _take(self, event: Mapping[str, object]) -> None:
        signals = self._asked(self.adapter.read_event, event)
        if any(isinstance(signal, TurnEnded) for signal in signals) or begins_another(signals, self.turns):
            # An interrupt, and the prompt that took its place, come before the end that a hook tells.
            self._read_transcript()
        self._apply_all(signals)

    def _read_transcript(self) -> None:
        if lines := self.tail.take():
            with self.turns.store.together():
                self._apply_all(self._asked(self.adapter.read_transcript, lines))
                self.save_progress()

    def save_progress(self) -> None:
        """Keep how far the session's words were read."""
        Progress.of(self.tail, self.taken).save(self.turns.store, self.id)

    def _note(self, signal: SessionSignal) -> None:
        """What a signal means for the turns and the record."""
        match signal:
            case PromptAccepted():
                self._accept(signal)
            case PromptQueued():
                self._hold(signal)
            case Answered(text=text):
                self.turns.answered(text)
            case TurnEnded():
                self.turns.end(signal)
            case UsageReported(message_id=message_id, usage=usage):
                self.turns.used(message_id, usage)
            case Interrupting(by=by):
                self.turns.interrupt(by)
            case Stopped():
                self.turns.interrupt("stop")
            case SessionIdentified():
                self._identify(signal)

    def _asked(self, question: Callable[[T], Sequence[Signal]], about: T) -> Sequence[Signal]:
        """The adapter's answer; nothing, and a word in the log, when it fails instead."""
        try:
            return question(about)
        except Exception:  # foreign code: an installed adapter may raise anything, and its fault ends no session
            log.exception("session %s: its adapter failed", self.id)
            return ()

    def _apply_all(self, signals: Iterable[Signal]) -> None:
        for signal in signals:
            for due in self._order.arrange(signal, self.turns):
                self.apply(due)

    def _accept(self, accepted: PromptAccepted) -> None:
        joins = accepted.queued or self.turns.current is not None
        waits = (expected for expected in self._expected if expected.turn is None)
        expected = next((one for one in waits if same_words(one.text, accepted.text)), None)
        if expected is None:
            self.turns.accept(accepted.text, native_id=accepted.native_turn_id)
        else:
            turn = self.turns.accept(
                accepted.text, sent=True, message_id=expected.message_id, native_id=accepted.native_turn_id
            )
            expected.turn, expected.joined = turn, joins

    def _hold(self, held: PromptQueued) -> None:
        """Of a prompt that the CLI holds for the running turn nothing more is known until the turn takes it in."""
        waits = (expected for expected in self._expected if expected.turn is None)
        expected = next((one for one in waits if begins_with(one.text, held.text)), None)
        if expected is not None and self.turns.current is not None:
            expected.turn, expected.joined = self.turns.current, True

    def _identify(self, identified: SessionIdentified) -> None:
        """A CLI that does not repeat where its transcript is has not moved it."""
        transcript = identified.transcript or self.record.transcript
        self.record = replace(self.record, native_session_id=identified.native_session_id, transcript=transcript)
        self.tail.follow(transcript)
        self.on_record(self.record)

    async def _watch_pane(self) -> None:
        async with self.terminal.watch(self.pane) as events:
            self.hint()
            async for event in events:
                match event:
                    case Wrote():
                        self.hint()
                        await anyio.sleep(self._pace.rest.total_seconds())
                    case Died(exit_status=status, exit_signal=signal):
                        await self._look_last()
                        self.apply(Exited(status, signal))
                    case Lost():
                        self._drain()
                        self.apply(Vanished())
                if self.state in ENDED:
                    return

    async def _look_last(self) -> None:
        """The last words of a CLI stay on the screen of its dead pane."""
        with anyio.move_on_after(LAST_LOOK_WITHIN.total_seconds()), suppress(TmuxError):
            await self.look()

    async def _read_when_dirty(self) -> None:
        known = self.status
        while True:
            await self._pace.until_due(self._is_told)
            try:
                await self.look()
                self._pace.looked(news=self.status != known or self.state in UNSETTLED)
                known = self.status
            except PaneGone:
                return
            except TmuxError as error:
                log.warning("session %s: %s; trying again", self.id, error)
                await anyio.sleep(RETRY_AFTER.total_seconds())
                self.hint()

    def _is_told(self) -> bool:
        """Whether files hold something that was not read."""
        return self.spool.has_any or self.tail.has_more
