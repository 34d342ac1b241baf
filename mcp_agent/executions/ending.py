"""Stopping what an execution runs: its turn and all its processes, and never a row alone."""

import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from mcp_agent.adapter import TurnOutcome
from mcp_agent.errors import (
    AskWithdrawn,
    McpAgentError,
    NotWithdrawn,
    TmuxUnavailable,
    TurnDeadlinePassed,
    UnknownSession,
)
from mcp_agent.executions.children import Children
from mcp_agent.executions.records import ExecutionRecord, ExecutionState, Outcome
from mcp_agent.executions.step import Ended, of_turn, state_told
from mcp_agent.sessions.input.messages import OPEN, Message, MessageState
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import SessionState
from mcp_agent.sessions.turns import Turn

log = logging.getLogger(__name__)

Why = Literal["turn_deadline", "cancel"]


@dataclass(frozen=True, slots=True)
class Order:
    """That an execution is to end, and what its session waited for when the order came."""

    why: Why
    waited_for: str | None = None


CANCEL = Order("cancel")
_USABLE = frozenset({SessionState.READY, SessionState.LIMITED, SessionState.BUSY})


@dataclass(frozen=True, slots=True)
class Ending:
    children: Children

    def order_of_deadline(self, execution_id: str) -> Order:
        """The order that a deadline gives at this moment."""
        session = self.children.living(execution_id)
        return Order("turn_deadline", _waited_for(session) if session else None)

    async def end(self, record: ExecutionRecord, order: Order) -> Ended:
        """End what runs, and say how the execution ended. What was observed before stays what happened.

        Raises `TmuxUnavailable` while nobody can tell what runs.
        """
        try:
            session = await self.children.find(record)
        except UnknownSession:
            session = None
        if session is None:
            return _never_began(record, order)
        message = await self._withdrawn(session, record)
        turn = session.turns.get(message.turn_id) if message and message.turn_id else None
        if order.why == "cancel":
            await self.children.sessions.stop(session.id)
            return _cancelled(record, session, _again(session, turn))
        if turn is None and (message is None or message.state is MessageState.WITHDRAWN):
            kept = session.over is not None or await self._interrupt(session, None)
            return _not_run(record, session.id, order, after="" if kept else "; its session was stopped")
        return await self._at_deadline(record, session, turn, waited_for=order.waited_for)

    async def _withdrawn(self, session: LiveSession, record: ExecutionRecord) -> Message | None:
        """The prompt's message, which goes to nobody any more unless it was placed already."""
        queue = self.children.sessions.queue
        message = await queue.messages.get(session.id, record.message_id)
        if message is None or message.state not in OPEN:
            return message
        try:
            await queue.withdraw(session, message.id)
        except NotWithdrawn:
            return await queue.decided(session, message.id, limit=timedelta(0))
        return await queue.messages.get(session.id, message.id)

    async def _at_deadline(
        self, record: ExecutionRecord, session: LiveSession, turn: Turn | None, *, waited_for: str | None
    ) -> Ended:
        if turn is not None and turn.ended is not None and turn.ended.outcome is TurnOutcome.COMPLETED:
            return of_turn(session, turn)
        kept = await self._interrupt(session, turn)
        turn = _again(session, turn)
        if turn is not None and turn.ended is not None and turn.ended.outcome is TurnOutcome.COMPLETED:
            return of_turn(session, turn)
        return _timed_out(record, session.id, turn, kept=kept, waited_for=waited_for)

    async def _interrupt(self, session: LiveSession, turn: Turn | None) -> bool:
        """Whether the session could be kept: it is stopped when it does not come back to its prompt."""
        sessions = self.children.sessions
        if session.over is not None:
            return False
        try:
            if turn is not None and turn.ended is None:
                return (await sessions.end_turn_at_deadline(session.id, turn.id))[1]
            if session.state in _USABLE:
                return True
        except TmuxUnavailable:
            raise
        except McpAgentError as error:
            log.warning("session %s is stopped at its deadline: %s", session.id, error)
        await sessions.stop(session.id)
        return False


def _again(session: LiveSession, turn: Turn | None) -> Turn | None:
    return None if turn is None else session.turns.get(turn.id)


def _cancelled(record: ExecutionRecord, session: LiveSession, turn: Turn | None) -> Ended:
    if turn is not None and turn.ended is not None and turn.ended.outcome is TurnOutcome.COMPLETED:
        return of_turn(session, turn)
    by = record.cancelled_by or "owner"
    reason = f"it was cancelled by its {by}; its session was stopped"
    text = turn.ended.final_text if turn and turn.ended else ""
    usage, turn_id = (turn.usage, turn.id) if turn else (None, None)
    return Ended(ExecutionState.CANCELLED, Outcome("cancel", by, reason, text or "", usage, turn_id))


def _never_began(record: ExecutionRecord, order: Order) -> Ended:
    if order.why == "cancel":
        by = record.cancelled_by or "owner"
        return Ended(ExecutionState.CANCELLED, Outcome("cancel", by, f"it was cancelled by its {by} before it began"))
    return _not_run(record, record.session_id or "(none)", order, after=" (it had not begun)")


def _not_run(record: ExecutionRecord, session_id: str, order: Order, *, after: str) -> Ended:
    """Its deadline came before its prompt was placed."""
    limit, elapsed_seconds = record.limit or timedelta(0), _elapsed_seconds(record)
    error = AskWithdrawn(session_id, limit, elapsed_seconds, waited_for=order.waited_for)
    return Ended(ExecutionState.DEADLINE_EXCEEDED, Outcome("turn_deadline", "caller", f"{error}{after}"))


def _timed_out(
    record: ExecutionRecord, session_id: str, turn: Turn | None, *, kept: bool, waited_for: str | None
) -> Ended:
    limit, elapsed_seconds = record.limit or timedelta(0), _elapsed_seconds(record)
    error = TurnDeadlinePassed(session_id, limit, elapsed_seconds, kept=kept, waited_for=waited_for)
    text = turn.ended.final_text if turn and turn.ended else ""
    usage, turn_id = (turn.usage, turn.id) if turn else (None, None)
    outcome = Outcome("turn_deadline", "caller", str(error), text or "", usage, turn_id)
    return Ended(ExecutionState.DEADLINE_EXCEEDED, outcome)


def _elapsed_seconds(record: ExecutionRecord) -> float:
    return max(time.time() - record.created_at, 0.0)


def _waited_for(session: LiveSession) -> str | None:
    """What a session that neither works nor is free waits for.

    One that was taken over from an earlier server is `starting` until somebody has looked: that is no waiting.
    """
    unseen = session.state is SessionState.STARTING and session.turns.all
    if unseen or session.state in {SessionState.READY, SessionState.BUSY}:
        return None
    return f"its session was {state_told(session)}"
