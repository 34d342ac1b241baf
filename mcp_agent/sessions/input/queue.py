"""The messages of live sessions: sent at once, or kept until the session can take them.

One task per session delivers what is kept: one message per turn, in order. It begins when something is kept, when a
session is found again and when one is resumed, and ends when nothing is left.
"""

import logging
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
from anyio.abc import TaskGroup

from mcp_agent.errors import (
    McpAgentError,
    NotWithdrawn,
    SendRefused,
    SessionEnded,
    StoreUnusable,
    TmuxError,
    UnknownMessage,
)
from mcp_agent.sessions.input import unsettled
from mcp_agent.sessions.input.admission import is_idle, works
from mcp_agent.sessions.input.composer import TAKES_NOTHING, draft, see
from mcp_agent.sessions.input.delivery import NotOurs, deliver, send_now
from mcp_agent.sessions.input.held import follow_held
from mcp_agent.sessions.input.messages import (
    DEADLINE_PASSED,
    OPEN,
    Message,
    MessageKind,
    Messages,
    MessageState,
    new_message_id,
)
from mcp_agent.sessions.input.sending import SendMode, SendOutcome, Sent, check_text
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import SessionState

log = logging.getLogger(__name__)

DRAWN_WITHIN = timedelta(seconds=2)
"""After the end of a turn its screen says so by then; otherwise something else goes on."""
SENT_WITHIN = timedelta(minutes=1)
"""A message that is being sent still by then has an outcome that could not be written down."""
TRY_AGAIN_AFTER = timedelta(seconds=2)
LONGEST = timedelta(days=365)
STOPPED = "the session was stopped"


@dataclass(slots=True)
class MessageQueue:
    """What the sessions of one server are to be told. Its tasks run in `owner`."""

    messages: Messages
    owner: TaskGroup
    _woken: set[str] = field(default_factory=set)
    """Sessions that may have something to deliver, or to settle."""
    _working: set[str] = field(default_factory=set)
    _sending: set[str] = field(default_factory=set)
    """Messages that are being sent at once: claimed, and no dead server's."""
    _held: set[str] = field(default_factory=set)
    """Messages that a CLI is known to hold for its running turn."""
    _obstacles: dict[str, str] = field(default_factory=dict)
    """What the last try to deliver found in its way, by session."""

    async def send(
        self,
        session: LiveSession,
        text: str,
        *,
        mode: SendMode,
        clear_draft: bool = False,
        message_id: str | None = None,
        deadline_at: float | None = None,
    ) -> Sent:
        """Send a text now, or keep it until the session can take it; `message_id` was never used before.

        The deadline goes to disk with it; `Overdue` keeps it. Raises as `input.send` does, and `StoreUnusable` when the
        text cannot be kept.
        """
        if mode is SendMode.QUEUE or (mode is SendMode.TURN and await self._must_wait(session)):
            return await self._keep(session, text, message_id, deadline_at=deadline_at)
        kind = MessageKind.STEER if mode is SendMode.STEER else MessageKind.PROMPT
        message = Message(
            message_id or new_message_id(), session.id, text, kind, 0.0, MessageState.SENDING, deadline_at=deadline_at
        )
        try:
            return await self._send_now(session, message, mode=mode, clear_draft=clear_draft)
        except SendRefused:
            if mode is SendMode.TURN and works(session):
                unused = await self._if_unused(session, message_id)
                return await self._keep(session, text, unused, deadline_at=deadline_at)
            raise

    async def decided(self, session: LiveSession, message_id: str, *, limit: timedelta) -> Message:
        """The message, once it waits no longer; as it is when the limit has passed, or the session is over.

        One that is being sent is waited for all the same. Raises `UnknownMessage`.
        """
        began_seconds = anyio.current_time()
        while True:
            changed = self.messages.changes.next
            message = await self._known(session, message_id)
            waits = message.state is MessageState.WAITING
            patience = limit if waits else max(limit, SENT_WITHIN)
            left = began_seconds + patience.total_seconds() - anyio.current_time()
            if message.state not in OPEN or left <= 0 or (waits and session.over):
                return message
            await _changed_or_over(changed, session, limit=timedelta(seconds=left), over_too=waits)

    async def _must_wait(self, session: LiveSession) -> bool:
        """Whether something runs, or is before it."""
        try:
            return works(session) or bool(await self.messages.all(session.id, states={MessageState.WAITING}))
        except StoreUnusable:
            return False

    async def _send_now(self, session: LiveSession, message: Message, *, mode: SendMode, clear_draft: bool) -> Sent:
        self._sending.add(message.id)
        try:
            sent = await send_now(self.messages, session, message, mode=mode, clear_draft=clear_draft)
        finally:
            self._sending.discard(message.id)
        self._follow_sent(session, message, sent)
        return sent

    async def _if_unused(self, session: LiveSession, message_id: str | None) -> str | None:
        """The id, unless a refused try of the same text is on record under it."""
        used = message_id is not None and await self.messages.get(session.id, message_id) is not None
        return None if used else message_id

    async def withdraw(self, session: LiveSession, message_id: str, *, at_deadline: bool = False) -> None:
        """Take back a message that waits. Raises `UnknownMessage` or `NotWithdrawn`."""
        message = await self._known(session, message_id)
        facts = {"reason": DEADLINE_PASSED, "waited_for": self.obstacle(session)} if at_deadline else {}
        if not await self.messages.move(message, MessageState.WITHDRAWN, expected={MessageState.WAITING}, **facts):
            found = await self.messages.get(session.id, message_id) or message
            raise NotWithdrawn(session.id, message_id, found.state)

    async def refuse_all(self, session: LiveSession) -> None:
        """The session was stopped: what waits goes to nobody. A store that does not take that is tried again."""
        try:
            await self.refuse_waiting(session)
        except StoreUnusable as error:
            log.warning("session %s: its waiting messages are not refused yet: %s", session.id, error)
            self.wake(session)

    async def refuse_waiting(self, session: LiveSession) -> None:
        """Raises `StoreUnusable`."""
        for message in await self.messages.all(session.id, states={MessageState.WAITING}):
            await self._refuse(message)

    def obstacle(self, session: LiveSession) -> str | None:
        """What messages wait for; None when nothing is known to be in their way."""
        if session.over:
            return f"the session is {session.over}"
        if session.turns.current is not None:
            return "a turn runs"
        if session.state is not SessionState.READY:
            return f"the session is {session.state}"
        return self._obstacles.get(session.id)

    def reason(self, session_id: str) -> str | None:
        """Why a session must be kept although it does nothing."""
        return "a message waits for it" if session_id in self._working else None

    def wake(self, session: LiveSession) -> None:
        """Something was queued, or the session goes on, or was found again: deliver what can be."""
        self._woken.add(session.id)
        if session.id not in self._working:
            self._working.add(session.id)
            self.owner.start_soon(self._work, session, name=f"messages of {session.id}")

    async def _known(self, session: LiveSession, message_id: str) -> Message:
        message = await self.messages.get(session.id, message_id)
        if message is None:
            raise UnknownMessage(session.id, message_id)
        return message

    async def _keep(
        self, session: LiveSession, text: str, message_id: str | None, *, deadline_at: float | None
    ) -> Sent:
        check_text(session.id, text)
        if session.over:
            raise SessionEnded(session.id, session.over)
        message = await self.messages.add(
            session.id, text, kind=MessageKind.PROMPT, message_id=message_id, deadline_at=deadline_at
        )
        if session.state is SessionState.STOPPED:
            await self._refuse(message)
            raise SessionEnded(session.id, str(session.over))
        self.wake(session)
        return Sent(SendOutcome.WAITING, None, message_id=message.id)

    async def _refuse(self, message: Message) -> None:
        await self.messages.move(message, MessageState.REFUSED, expected={MessageState.WAITING}, reason=STOPPED)

    async def _work(self, session: LiveSession) -> None:
        while session.id in self._woken:
            self._woken.discard(session.id)
            try:
                await self._settle_claimed(session)
                if session.state is SessionState.STOPPED:
                    await self.refuse_waiting(session)
                await self._follow_held_by_running_turn(session)
                await self._deliver_waiting(session)
            except StoreUnusable as error:
                log.warning("session %s: %s; its messages wait", session.id, error)
                self._woken.add(session.id)
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
            except Exception:  # foreign code: an installed adapter may raise anything, and its fault ends no server
                log.exception("session %s: its messages wait until somebody sends one", session.id)
        self._working.discard(session.id)

    async def _settle_claimed(self, session: LiveSession) -> None:
        for message in await self.messages.all(session.id, states={MessageState.SENDING}):
            if message.id not in self._sending and not await unsettled.settle(self.messages, session, message):
                self._follow(session, message)

    async def _deliver_waiting(self, session: LiveSession) -> None:
        while await self.messages.all(session.id, states={MessageState.WAITING}) and await _comes_free(session):
            waiting = await self.messages.all(session.id, states={MessageState.WAITING})
            if waiting:
                await self._deliver(session, waiting[0])

    async def _deliver(self, session: LiveSession, message: Message) -> None:
        try:
            sent = await deliver(self.messages, session, message)
        except NotOurs:
            return
        except StoreUnusable:
            raise
        except McpAgentError as error:
            self._obstacles[session.id] = str(error)
            await session.wait_until(lambda: bool(session.over), limit=TRY_AGAIN_AFTER)
        else:
            self._obstacles.pop(session.id, None)
            self._follow_sent(session, message, sent)

    def _follow_sent(self, session: LiveSession, message: Message, sent: Sent) -> None:
        if sent.outcome is SendOutcome.UNCONFIRMED:
            self._follow(session, message)
        elif sent.outcome is SendOutcome.QUEUED and sent.turn_id is not None:
            self._follow_held(session, message, sent.turn_id)

    def _follow(self, session: LiveSession, message: Message) -> None:
        self.owner.start_soon(unsettled.follow, self.messages, session, message, name=f"follow {message.id}")

    def _follow_held(self, session: LiveSession, message: Message, turn_id: str) -> None:
        if message.id not in self._held:
            self._held.add(message.id)
            self.owner.start_soon(self._until_taken_in, session, message, turn_id, name=f"held {message.id}")

    async def _until_taken_in(self, session: LiveSession, message: Message, turn_id: str) -> None:
        try:
            await follow_held(self.messages, session, message, turn_id)
        finally:
            self._held.discard(message.id)

    async def _follow_held_by_running_turn(self, session: LiveSession) -> None:
        """What an earlier server sent as live input."""
        turn = session.turns.current
        if turn is not None:
            for message in await self.messages.all(session.id, states={MessageState.QUEUED}):
                if message.turn_id == turn.id:
                    self._follow_held(session, message, turn.id)


async def _changed_or_over(changed: anyio.Event, session: LiveSession, *, limit: timedelta, over_too: bool) -> None:
    async with anyio.create_task_group() as group:

        async def until_over() -> None:
            await session.wait_until(lambda: over_too and bool(session.over), limit=limit)
            group.cancel_scope.cancel()

        group.start_soon(until_over)
        await changed.wait()
        group.cancel_scope.cancel()


async def _comes_free(session: LiveSession) -> bool:
    """Wait until a message can be delivered; False when the session is over."""
    while not session.over:
        await session.wait_until(lambda: bool(session.over) or _may_be_free(session), limit=LONGEST)
        try:
            if await see(session, lambda: bool(session.over) or _is_free(session), limit=DRAWN_WITHIN):
                break
            await session.wait_until(lambda: bool(session.over) or _is_free(session), limit=LONGEST)
        except TmuxError:
            await session.wait_until(lambda: bool(session.over), limit=TRY_AGAIN_AFTER)
    return not session.over


def _may_be_free(session: LiveSession) -> bool:
    """No turn runs; whether the screen says so yet is another question."""
    return session.turns.current is None and session.state not in TAKES_NOTHING


def _is_free(session: LiveSession) -> bool:
    return is_idle(session) and draft(session) == ""
