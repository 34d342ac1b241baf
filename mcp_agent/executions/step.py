"""The one step of an execution: see to its session and its prompt, and wait for the end of its turn.

It can be run any number of times: the session is found again, and the prompt is one message with one id, which is
placed at most once whatever dies meanwhile.
"""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.to_thread

from mcp_agent.adapter import TurnOutcome
from mcp_agent.errors import (
    ExecutionsUnusable,
    ExecutionUnreadable,
    Internal,
    McpAgentError,
    PromptReadyTimedOut,
    SessionEnded,
    StoreUnusable,
    UnknownMessage,
    UnknownSession,
)
from mcp_agent.executions.children import Children
from mcp_agent.executions.records import EndedBy, ExecutionRecord, ExecutionState, Outcome
from mcp_agent.sessions.input.messages import ARRIVED, OPEN, Message, MessageState
from mcp_agent.sessions.input.sending import SendMode
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import SessionState
from mcp_agent.sessions.turns import Turn

LONGEST = timedelta(days=365)
PROVED_WITHIN = timedelta(minutes=2)
"""A CLI that took a prompt of which nobody could tell has told of it by then."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an execution came to its end."""

    state: ExecutionState
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Step:
    children: Children

    async def run(self, record: ExecutionRecord) -> Ended:
        """Return when the execution is over. Cancelling it leaves the session to whoever looks for it next.

        Raises `ExecutionsUnusable` and `StoreUnusable`, and can be run again then.
        """
        try:
            session = await self.children.ensure(record)
            message = await self._prompt(session, record)
            return await self._follow(session, message)
        except ExecutionUnreadable as error:
            return failed(error, ended_by="session", owner="child")
        except (ExecutionsUnusable, StoreUnusable):
            raise
        except PromptReadyTimedOut as error:
            return failed(error, ended_by="prompt_ready", owner="adapter")
        except (UnknownSession, UnknownMessage) as error:
            return lost(f"its session is not known any more: {error}")
        except McpAgentError as error:
            return failed(error, ended_by="session", owner="child")

    async def _prompt(self, session: LiveSession, record: ExecutionRecord) -> Message:
        """The message once it waits no longer. It is sent once; a session that was lost before it is gone on with."""
        sessions, queue = self.children.sessions, self.children.sessions.queue
        if await queue.messages.get(session.id, record.message_id) is None:
            await sessions.send(session.id, record.instructions, mode=SendMode.QUEUE, message_id=record.message_id)
        while True:
            message = await queue.decided(session, record.message_id, limit=LONGEST)
            if message.state not in OPEN:
                return await self._proved(session, message)
            await sessions.for_input(session.id)

    async def _proved(self, session: LiveSession, message: Message) -> Message:
        messages = self.children.sessions.queue.messages
        with anyio.move_on_after(PROVED_WITHIN.total_seconds()):
            while message.state is MessageState.UNCONFIRMED:
                changed = messages.changes.next
                message = await messages.get(session.id, message.id) or message
                if message.state is MessageState.UNCONFIRMED:
                    await changed.wait()
        return message

    async def _follow(self, session: LiveSession, message: Message) -> Ended:
        messages = self.children.sessions.queue.messages
        while message.state in ARRIVED and message.turn_id is not None:
            turn_id = message.turn_id
            await session.wait_until(lambda turn_id=turn_id: _is_over(session, turn_id), limit=LONGEST)  # type: ignore[misc]
            message = await messages.get(session.id, message.id) or message
            if message.turn_id == turn_id:
                return of_turn(session, session.turns.get(turn_id))
        return _never_ran(session, message)


def of_turn(session: LiveSession, turn: Turn | None) -> Ended:
    """What the end of its turn makes of an execution."""
    if turn is None or turn.ended is None:
        return lost("its turn is not on record any more")
    ended = turn.ended
    if ended.outcome is TurnOutcome.COMPLETED:
        return Ended(ExecutionState.SUCCEEDED, _outcome(turn, "result", "child", "it completed"))
    problem = ended.error or "its turn did not complete"
    if session.state is SessionState.LOST:
        return Ended(ExecutionState.LOST, _outcome(turn, "session", "child", problem))
    if ended.outcome is TurnOutcome.FAILED:
        return Ended(ExecutionState.FAILED, _outcome(turn, "result", "child", problem))
    if turn.reason == "stop" or session.state is SessionState.STOPPED:
        return Ended(ExecutionState.CANCELLED, _outcome(turn, "session", "owner", "its session was stopped"))
    return Ended(ExecutionState.CANCELLED, _outcome(turn, "person", "person", "somebody interrupted its turn"))


def _never_ran(session: LiveSession, message: Message) -> Ended:
    if message.state is MessageState.UNCONFIRMED:
        return lost(f"nobody knows whether its prompt arrived: {message.reason or 'the CLI told nothing of it'}")
    if message.state is MessageState.WITHDRAWN:
        outcome = Outcome("person", "person", "somebody withdrew its prompt before it was placed")
        return Ended(ExecutionState.CANCELLED, outcome)
    if session.state is SessionState.STOPPED:
        return Ended(ExecutionState.CANCELLED, Outcome("session", "owner", "its session was stopped before it began"))
    return failed(message.reason or "its prompt was refused", ended_by="session", owner="child")


def state_told(session: LiveSession) -> str:
    """The state with what is known of it: `waiting (permission)`."""
    return f"{session.state} ({session.status.detail})" if session.status.detail else str(session.state)


def failed(why: McpAgentError | str, *, ended_by: EndedBy, owner: str) -> Ended:
    if isinstance(why, SessionEnded) and "stopped" in why.how:
        return Ended(ExecutionState.CANCELLED, Outcome("session", "owner", str(why)))
    return Ended(ExecutionState.FAILED, Outcome(ended_by, owner, str(why)))


def lost(why: str, *, ended_by: EndedBy = "session", owner: str = "child") -> Ended:
    return Ended(ExecutionState.LOST, Outcome(ended_by, owner, why))


def at_fault(log: Path, *, prompted: bool) -> Ended:
    """What a fault of ours makes of an execution, which may have been `prompted` before it."""
    fault = str(Internal(log))
    if prompted:
        return lost(fault, owner="mcp-agent")
    return failed(f"{fault}; nothing of it was run", ended_by="session", owner="mcp-agent")


def _outcome(turn: Turn, ended_by: EndedBy, owner: str, reason: str) -> Outcome:
    text = turn.ended.final_text if turn.ended else ""
    cause = str(turn.ended.cause) if turn.ended and turn.ended.error is not None else None
    return Outcome(ended_by, owner, reason, text or "", turn.usage, turn.id, cause)


def _is_over(session: LiveSession, turn_id: str) -> bool:
    turn = session.turns.get(turn_id)
    return turn is None or turn.ended is not None
