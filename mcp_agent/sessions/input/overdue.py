"""The deadline that a caller gave its prompt, kept by the server: the caller may be gone by then.

It stands beside the message on disk, as a point in time, and the next server keeps what this one cannot. A prompt that
waits still is withdrawn; the turn that it began is interrupted.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
from anyio.abc import TaskGroup

from mcp_agent.deadlines import Deadlines
from mcp_agent.errors import (
    KeyboardTaken,
    NotWithdrawn,
    SessionEnded,
    StoreUnusable,
    TmuxError,
    UnknownMessage,
    UnknownSession,
)
from mcp_agent.sessions.input.interrupting import interrupt_at_deadline
from mcp_agent.sessions.input.messages import DEADLINE_PASSED, Message, MessageState
from mcp_agent.sessions.input.queue import MessageQueue
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.turns import Turn

log = logging.getLogger(__name__)

TRY_AGAIN_AFTER = timedelta(seconds=2)


@dataclass(slots=True, eq=False)
class _Ending:
    """One turn's end at its deadline, whoever asks for it, and how often."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    result: tuple[bool, bool] | None = None


@dataclass(slots=True, eq=False)
class Overdue:
    """Ends what prompts began that took longer than their callers wanted. `begin` must be called for it."""

    queue: MessageQueue
    get: Callable[[str], LiveSession]
    """Raises `UnknownSession`, and `TmuxUnavailable` for a session that cannot be looked after yet."""
    stop: Callable[[str], Awaitable[object]]
    owner: TaskGroup
    _deadlines: Deadlines = field(init=False)
    _sessions: dict[str, str] = field(default_factory=dict)
    """Whose a message is that has a deadline to come."""
    _endings: dict[str, _Ending] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._deadlines = Deadlines(self._expire)

    def begin(self) -> None:
        """Keep deadlines from now on, also those that were given to an earlier server."""
        self.owner.start_soon(self._deadlines.keep, name="deadlines of prompts")
        self.owner.start_soon(self._recall, name="recall deadlines of prompts")

    def watch(self, session_id: str, message_id: str, deadline_at: float) -> None:
        """The prompt has this deadline, a wall-clock epoch, which may have passed."""
        self._sessions[message_id] = session_id
        self._deadlines.watch(message_id, deadline_at)

    async def end_turn(self, session_id: str, turn_id: str) -> tuple[bool, bool]:
        """Interrupt the turn, and stop a session that does not come back from it.

        Whether it was interrupted, and whether the session could be kept; asked again, the same. Raises as
        `interrupt_at_deadline` does.
        """
        ending = self._endings.setdefault(turn_id, _Ending())
        async with ending.lock:
            if ending.result is not None:
                return ending.result
            interrupted, usable = await interrupt_at_deadline(self.get(session_id), turn_id)
            if not usable:
                await self.stop(session_id)
            if interrupted:
                ending.result = (interrupted, usable)
            return interrupted, usable

    async def _recall(self) -> None:
        while True:
            try:
                found = await self.queue.messages.with_deadline()
            except StoreUnusable as error:
                log.warning("deadlines of prompts are not known yet: %s", error)
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
                continue
            for message in found:
                if message.deadline_at is not None:
                    self.watch(message.session_id, message.id, message.deadline_at)
            return

    def _expire(self, message_id: str) -> None:
        session_id = self._sessions.pop(message_id)
        self.owner.start_soon(self._end, session_id, message_id, name=f"deadline of {message_id}")

    async def _end(self, session_id: str, message_id: str) -> None:
        while True:
            if await self._has_ended(session_id, message_id):
                return
            await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())

    async def _has_ended(self, session_id: str, message_id: str) -> bool:
        """Whether nothing of the prompt is left to be ended."""
        try:
            session = self.get(session_id)
            message = await self._decided(session, message_id)
            if message is not None and message.state is MessageState.WAITING:
                await self.queue.withdraw(session, message_id, at_deadline=True)
                log.info("session %s: message %s is withdrawn: %s", session_id, message_id, DEADLINE_PASSED)
            turn = _begun_by(message_id, message, session.turns.all)
            if turn is not None and turn.ended is None:
                log.info("session %s: turn %s is interrupted: %s", session_id, turn.id, DEADLINE_PASSED)
                await self.end_turn(session_id, turn.id)
        except (UnknownSession, SessionEnded):
            return True
        except (NotWithdrawn, TmuxError, KeyboardTaken, StoreUnusable) as error:
            log.warning("session %s: the deadline of %s is not kept yet: %s", session_id, message_id, error)
            return False
        return True

    async def _decided(self, session: LiveSession, message_id: str) -> Message | None:
        """The message; one that is being sent is waited for. None: it was sent while it could not be kept."""
        try:
            return await self.queue.decided(session, message_id, limit=timedelta(0))
        except UnknownMessage:
            return None


def _begun_by(message_id: str, message: Message | None, turns: Sequence[Turn]) -> Turn | None:
    """The turn that the message began; one that merely took it in is somebody else's."""
    began = message.turn_id if message is not None and message.state is MessageState.DELIVERED else None
    return next((turn for turn in turns if turn.message_id == message_id or turn.id == began), None)
