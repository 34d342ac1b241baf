"""The one reducer that decides a session's state from typed signals.

A turn starts with an accepted prompt and ends with the provider's own word for it. Silence, and a screen that looks
idle, never complete one.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal

from mcp_agent.adapter import (
    Answered,
    Blocked,
    Busy,
    Dialog,
    LimitedBy,
    PromptAccepted,
    PromptQueued,
    Ready,
    SessionIdentified,
    Signal,
    TranscriptAt,
    TurnEnded,
    TurnOutcome,
    UsageReported,
    Waiting,
)


class SessionState(StrEnum):
    STARTING = "starting"
    BLOCKED = "blocked"
    READY = "ready"
    BUSY = "busy"
    WAITING = "waiting"
    LIMITED = "limited"
    LOST = "lost"
    EXITED = "exited"
    STOPPED = "stopped"


ENDED = frozenset({SessionState.LOST, SessionState.EXITED, SessionState.STOPPED})
"""States that a session never leaves by itself."""


@dataclass(frozen=True, slots=True)
class BridgeUp:
    """The session's bridge asked for its tools: the CLI's MCP client is connected."""


@dataclass(frozen=True, slots=True)
class Interrupting:
    """Somebody told the running turn to stop: from now on its tool calls are refused."""

    by: Literal["person", "deadline"] = "person"


@dataclass(frozen=True, slots=True)
class Exited:
    """The CLI ended by itself. One of the two is None."""

    status: int | None
    signal: int | None


@dataclass(frozen=True, slots=True)
class Vanished:
    """The pane, or the tmux server, is gone."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody told the session to stop, or it was closed for the reason given."""

    reason: str | None = None


Reading = Ready | Busy | Waiting | Blocked
"""What a screen can say of the CLI as a whole."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look at the screen said, which may be nothing."""

    readings: tuple[Reading, ...] = ()


SessionSignal = Signal | BridgeUp | Interrupting | Exited | Vanished | Stopped | Seen


@dataclass(frozen=True, slots=True)
class Status:
    """All that the state follows from."""

    bridge_up: bool = False
    turn_running: bool = False
    turn_aborted: bool = False
    """The last turn was told to stop, and no prompt was accepted since."""
    reading: Reading | None = None
    limited: LimitedBy | None = None
    end: Exited | Vanished | Stopped | None = None

    @property
    def state(self) -> SessionState:
        if self.end is not None:
            return _END_STATES[type(self.end)]
        blocked = isinstance(self.reading, Blocked) and not self._offers_only
        if isinstance(self.reading, Waiting) or (self.turn_running and blocked):
            return SessionState.WAITING
        if blocked:
            return SessionState.BLOCKED
        if self.turn_running:
            return SessionState.BUSY
        return self._idle_state()

    @property
    def _offers_only(self) -> bool:
        """What stands there once a session came up is declined with the next prompt, and is in nobody's way."""
        answer = self.dialog.answer if self.dialog else None
        return answer is not None and answer.needs == "nothing" and (self.turn_running or self.limited is not None)

    def _idle_state(self) -> SessionState:
        """Ready needs both: a prompt on the screen, and the bridge connected."""
        if self.reading is None or not self.bridge_up:
            return SessionState.STARTING
        if isinstance(self.reading, Busy):
            return SessionState.BUSY
        return SessionState.LIMITED if self.limited else SessionState.READY

    @property
    def dialog(self) -> Dialog | None:
        return self.reading.dialog if isinstance(self.reading, Blocked) else None

    @property
    def detail(self) -> str | None:
        """What the state's parenthesis holds; None when it has none."""
        match self.state, self.end:
            case SessionState.EXITED, Exited(status=None, signal=signal):
                return f"signal {signal}"
            case SessionState.EXITED, Exited(status=status):
                return f"status {status}"
            case SessionState.STOPPED, Stopped(reason=reason):
                return reason
            case SessionState.BLOCKED, _:
                return self.dialog.name if self.dialog else None
            case SessionState.BUSY, _:
                return self.reading.reason if isinstance(self.reading, Busy) else None
            case SessionState.WAITING, _:
                return self.reading.reason if isinstance(self.reading, Waiting) else "question"
            case SessionState.LIMITED, _:
                return self.limited.kind if self.limited else None
            case _:
                return None

    @property
    def resets_at(self) -> datetime | None:
        return self.limited.resets_at if self.limited else None


_END_STATES: dict[type[Exited | Vanished | Stopped], SessionState] = {
    Exited: SessionState.EXITED,
    Vanished: SessionState.LOST,
    Stopped: SessionState.STOPPED,
}


def reduce(status: Status, signal: SessionSignal) -> Status:
    """The status after one more signal. An end is final, but for a stop: people may stop what is already gone."""
    if status.end is not None and not isinstance(signal, Stopped):
        return status
    match signal:
        case Stopped() | Exited() | Vanished():
            return replace(status, end=signal, turn_running=False)
        case Interrupting():
            return replace(status, turn_aborted=True)
        case BridgeUp():
            return replace(status, bridge_up=True)
        case PromptAccepted():
            return replace(status, turn_running=True, turn_aborted=False, limited=None)
        case TurnEnded(outcome=TurnOutcome.COMPLETED):
            return replace(status, turn_running=False, limited=None)
        case TurnEnded():
            return replace(status, turn_running=False)
        case LimitedBy():
            return replace(status, limited=_completed(signal, status.limited))
        case SessionIdentified() | PromptQueued() | Answered() | UsageReported() | TranscriptAt():
            return status
        case Ready() | Busy() | Waiting() | Blocked():
            return replace(status, reading=signal)
        case Seen(readings=()) if isinstance(status.reading, Waiting | Blocked):
            return replace(status, reading=None)
        case Seen(readings=()):
            return status
        case Seen(readings=readings):
            return replace(status, reading=max(readings, key=_rank))


def _completed(limit: LimitedBy, known: LimitedBy | None) -> LimitedBy:
    """A provider may tell one limit in two places, and when it ends in only one of them."""
    same = known is not None and known.kind == limit.kind
    return replace(limit, resets_at=known.resets_at) if known and same and limit.resets_at is None else limit


def _rank(reading: Reading) -> int:
    """A question outranks work, and work outranks a prompt."""
    match reading:
        case Waiting() | Blocked():
            return 2
        case Busy():
            return 1
        case Ready():
            return 0
