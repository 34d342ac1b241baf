"""Turns: one accepted prompt until its one completion, kept on disk at every step."""

import json
import logging
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from mcp_agent.adapter import Source, TurnEnded, TurnOutcome, Usage
from mcp_agent.sessions.signals import Exited, Stopped, Vanished
from mcp_agent.sessions.store.store import SessionStore

N = TypeVar("N", int, float)

log = logging.getLogger(__name__)

LONGEST_TOLD = 200
"""How much of a prompt an event repeats; the turn holds all of it."""

Interrupter = Literal["person", "deadline", "stop"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What is known of one turn. `ended` is None while it runs; times are wall-clock epochs, for the record."""

    id: str
    prompt: str
    started_at: float
    live_inputs: tuple[str, ...] = ()
    ended: TurnEnded | None = None
    ended_at: float | None = None
    submission: Literal["delivered", "seen"] = "seen"
    """`delivered`: a send of ours began it. `seen`: the CLI told of a prompt that somebody else gave it."""
    message_id: str | None = None
    """The message that began it, when it was one of ours that has an id."""
    interrupted_by: Interrupter | None = None
    """Who told it to stop, whether or not it came to its end by that."""
    native_id: str | None = None
    """The CLI's own id of it, where it tells one."""
    answer: str = ""
    """The latest answer that was told before the end, by a CLI whose end does not repeat it."""
    usage_by_message: Mapping[str, Usage] = field(default_factory=dict)
    """What each answer of the model cost, by the provider's id for it: told again, it counts once."""

    @property
    def usage(self) -> Usage | None:
        """What the turn cost so far; None when the provider does not say."""
        if self.ended is not None and self.ended.usage is not None:
            return self.ended.usage
        return total(self.usage_by_message.values()) if self.usage_by_message else None

    @property
    def reason(self) -> Interrupter | None:
        """Why a turn that was interrupted was."""
        interrupted = self.ended is not None and self.ended.outcome is TurnOutcome.INTERRUPTED
        return self.interrupted_by if interrupted else None


_TURN = TypeAdapter(Turn)


@dataclass(slots=True)
class Turns:
    """The turns of one session, oldest first; at most one of them runs."""

    store: SessionStore = field(default_factory=SessionStore.in_memory)
    session_id: str = ""
    _turns: dict[str, Turn] = field(default_factory=dict)
    _current: str | None = None

    @classmethod
    def restored(cls, store: SessionStore, session_id: str) -> "Turns":
        """The turns as an earlier server left them, one that still runs included. Raises `StoreUnusable`."""
        turns = history(store, session_id)
        running = turns[-1].id if turns and turns[-1].ended is None else None
        return cls(store, session_id, {turn.id: turn for turn in turns}, running)

    @property
    def current(self) -> Turn | None:
        return self._turns[self._current] if self._current else None

    @property
    def aborted(self) -> bool:
        """The newest turn was told to stop, and no prompt began another since."""
        newest = next(reversed(self._turns.values()), None)
        return newest is not None and newest.interrupted_by is not None

    @property
    def all(self) -> list[Turn]:
        return list(self._turns.values())

    def get(self, turn_id: str) -> Turn | None:
        return self._turns.get(turn_id)

    def accept(
        self, prompt: str, *, sent: bool = False, message_id: str | None = None, native_id: str | None = None
    ) -> Turn:
        """A prompt was accepted: it starts a turn, or joins the one that runs. `sent`: it was a send of ours."""
        facts = {"prompt": prompt[:LONGEST_TOLD], "message_id": message_id}
        running = self.current
        if running is not None:
            joined = replace(running, live_inputs=(*running.live_inputs, prompt))
            return self._keep(joined, "turn.joined", **facts)
        submission: Literal["delivered", "seen"] = "delivered" if sent else "seen"
        turn = Turn(
            f"t-{secrets.token_hex(5)}",
            prompt,
            self.store.clock(),
            submission=submission,
            message_id=message_id,
            native_id=native_id,
        )
        self._current = turn.id
        return self._keep(turn, "turn.started", **facts, submission=submission)

    def interrupt(self, by: Interrupter) -> None:
        """Somebody told the running turn to stop. The first one is remembered; it may complete all the same."""
        running = self.current
        if running is not None and running.interrupted_by is None:
            self._keep(replace(running, interrupted_by=by), "turn.interrupting", by=by)

    def used(self, message_id: str, usage: Usage) -> None:
        """One answer of the model cost this much. What is told late belongs to the turn that ended last."""
        turn = self.current or next(reversed(self._turns.values()), None)
        if turn is not None and turn.usage_by_message.get(message_id) != usage:
            self._save(replace(turn, usage_by_message={**turn.usage_by_message, message_id: usage}))

    def answered(self, text: str) -> None:
        """The running turn's latest answer. One that is told late completes an end that came without any."""
        turn = self.current or next(reversed(self._turns.values()), None)
        if turn is None:
            return
        if turn.ended is None:
            self._save(replace(turn, answer=text))
        elif not turn.ended.final_text:
            self._save(replace(turn, answer=text, ended=replace(turn.ended, final_text=text)))

    def end(self, ended: TurnEnded) -> Turn | None:
        """The running turn is over; None when none runs, so that a second completion changes nothing."""
        running = self.current
        if running is None:
            return None
        ended = replace(ended, final_text=ended.final_text or running.answer)
        over = replace(running, ended=ended, ended_at=self.store.clock())
        self._current = None
        return self._keep(
            over, "turn.ended", outcome=ended.outcome, error=ended.error, reason=over.reason, source=ended.source
        )

    def _keep(self, turn: Turn, kind: str, **facts: object) -> Turn:
        self.store.tell(self.session_id, kind, turn_id=turn.id, **facts)
        return self._save(turn)

    def _save(self, turn: Turn) -> Turn:
        self._turns[turn.id] = turn
        self.store.save_turn(
            self.session_id,
            turn.id,
            started_at=turn.started_at,
            ended_at=turn.ended_at,
            facts=json.dumps(asdict(turn)),
        )
        return turn


def history(store: SessionStore, session_id: str) -> list[Turn]:
    """The turns of a session that anybody still knows of, oldest first. Raises `StoreUnusable`."""
    return [turn for facts in store.turns(session_id) if (turn := _turn(facts)) is not None]


def cut_short(end: Exited | Vanished | Stopped) -> TurnEnded:
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


def total(costs: Iterable[Usage]) -> Usage:
    """The sum, with None only where nobody says."""
    found = [*costs]
    return Usage(
        _sum(usage.input_tokens for usage in found),
        _sum(usage.output_tokens for usage in found),
        _sum(usage.cost_usd for usage in found),
    )


def _sum(amounts: Iterable[N | None]) -> N | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _turn(facts: str) -> Turn | None:
    try:
        return _TURN.validate_python(json.loads(facts))
    except (ValueError, ValidationError) as error:
        log.error("a turn on record is unreadable: %s", error)  # noqa: TRY400 - the traceback says nothing more
        return None
