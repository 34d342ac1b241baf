"""One live session: what its pane, its events and its transcript say, folded into one status.

Everything is level-triggered: a hint that something changed leads to one more look at the screen, the spooled events
and the transcript, so that a lost hint costs time and never truth.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

import anyio

from mcp_agent.adapter import (
    Adapter,
    PromptAccepted,
    Screen,
    SessionIdentified,
    Signal,
    Source,
    TurnEnded,
    TurnOutcome,
)
from mcp_agent.errors import PaneGone, TmuxError
from mcp_agent.sessions.events import EventSpool, TranscriptTail
from mcp_agent.sessions.record import SessionRecord
from mcp_agent.sessions.signals import (
    ENDED,
    BridgeUp,
    Exited,
    Reading,
    Seen,
    SessionSignal,
    SessionState,
    Status,
    Stopped,
    Vanished,
    reduce,
)
from mcp_agent.sessions.turns import Turn, Turns
from mcp_agent.sessions.words import same_words
from mcp_agent.tmux.terminal import Died, Lost, PaneRef, Terminal, Wrote

log = logging.getLogger(__name__)

T = TypeVar("T")

SETTLE = timedelta(milliseconds=150)
"""A screen is read when nothing was written for this long."""
LONGEST_SETTLE = timedelta(milliseconds=500)
"""A spinner never settles, so a screen is read at least this often while something is written."""
LOOK_AGAIN_AFTER = timedelta(seconds=5)
"""Without any hint: an event whose teller could not reach the server is found by then."""
RETRY_AFTER = timedelta(seconds=1)
LAST_LOOK_WITHIN = timedelta(seconds=2)


@dataclass(slots=True)
class ExpectedPrompt:
    """Evidence that one text was taken as a prompt. `turn` is None until it came."""

    text: str
    turn: Turn | None = None
    joined: bool = False
    """The text was taken into a turn that was already running."""


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
    screen: Screen = field(default_factory=lambda: Screen(()))
    send_lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Sends wait here for each other, so that an interrupt waits for one of them at most."""
    input_lock: anyio.Lock = field(default_factory=anyio.Lock)
    """Held by whoever pastes or presses."""
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
        if self.status.end is not None:
            self.turns.end(_cut_short(self.status.end))
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
            said = self._asked(self.adapter.read, self.screen)
            self._apply_all(signal for signal in said if not isinstance(signal, Reading))
            self.apply(Seen(tuple(signal for signal in said if isinstance(signal, Reading))))
            return self.screen

    def _drain(self) -> None:
        for event in self.spool.take():
            signals = self._asked(self.adapter.read_event, event)
            if any(isinstance(signal, TurnEnded) for signal in signals):
                # An interrupt, and the prompt that took its place, come before the end that a hook tells.
                self._read_transcript()
            self._apply_all(signals)
        self._read_transcript()

    def _read_transcript(self) -> None:
        self._apply_all(self._asked(self.adapter.read_transcript, self.tail.take()))

    def _asked(self, question: Callable[[T], Sequence[Signal]], about: T) -> Sequence[Signal]:
        """The adapter's answer; nothing, and a word in the log, when it fails instead."""
        try:
            return question(about)
        except Exception:  # foreign code: an installed adapter may raise anything, and its fault ends no session
            log.exception("session %s: its adapter failed", self.id)
            return ()

    def _apply_all(self, signals: Iterable[SessionSignal]) -> None:
        for signal in signals:
            self.apply(signal)

    def _accept(self, accepted: PromptAccepted) -> None:
        joins = accepted.queued or self.turns.current is not None
        turn = self.turns.accept(accepted.text)
        for expected in self._expected:
            if expected.turn is None and same_words(expected.text, accepted.text):
                expected.turn, expected.joined = turn, joins
                return

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
        while True:
            with anyio.move_on_after(LOOK_AGAIN_AFTER.total_seconds()):
                await self._dirty.wait()
            await self._settle()
            try:
                await self.look()
            except PaneGone:
                return
            except TmuxError as error:
                log.warning("session %s: %s; trying again", self.id, error)
                await anyio.sleep(RETRY_AFTER.total_seconds())
                self.hint()

    async def _settle(self) -> None:
        with anyio.move_on_after(LONGEST_SETTLE.total_seconds()):
            while self._dirty.is_set():
                self._dirty = anyio.Event()
                with anyio.move_on_after(SETTLE.total_seconds()):
                    await self._dirty.wait()


def _cut_short(end: Exited | Vanished | Stopped) -> TurnEnded:
    """What becomes of a turn whose session is over."""
    match end:
        case Stopped():
            return TurnEnded(TurnOutcome.INTERRUPTED, error="the session was stopped", source=Source.PROCESS)
        case Exited(status=status, signal=None):
            error = f"the CLI exited with status {status}"
        case Exited(signal=signal):
            error = f"the CLI was ended by signal {signal}"
        case Vanished():
            error = "the CLI's pane is gone"
    return TurnEnded(TurnOutcome.FAILED, error=error, source=Source.PROCESS)
