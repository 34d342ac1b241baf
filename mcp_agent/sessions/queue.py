"""The messages of live sessions: sent at once, or kept until the session can take them.

One task per session delivers what is kept: one message per turn, in order. It begins when something is kept, when a
session is found again and when one is resumed, and ends when nothing is left.
"""

import logging
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
from anyio.abc import TaskGroup

from mcp_agent.errors import McpAgentError, NotWithdrawn, SessionEnded, StoreUnusable, TmuxError, UnknownMessage
from mcp_agent.sessions import unsettled
from mcp_agent.sessions.admission import is_idle
from mcp_agent.sessions.composer import TAKES_NOTHING, draft, see
from mcp_agent.sessions.delivery import NotOurs, deliver, send_now
from mcp_agent.sessions.input import SendMode, SendOutcome, Sent, check_text
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.messages import Message, MessageKind, Messages, MessageState, new_message_id
from mcp_agent.sessions.signals import SessionState

log = logging.getLogger(__name__)

DRAWN_WITHIN = timedelta(seconds=2)
"""After the end of a turn its screen says so by then; otherwise something else goes on."""
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
    _obstacles: dict[str, str] = field(default_factory=dict)
    """What the last try to deliver found in its way, by session."""

    async def send(self, session: LiveSession, text: str, *, mode: SendMode, clear_draft: bool = False) -> Sent:
        """Send a text now, or keep it until the session can take it.

        Raises as `input.send` does, and `StoreUnusable` when the text cannot be kept.
        """
        if mode is SendMode.QUEUE:
            return await self._keep(session, text)
        kind = MessageKind.STEER if mode is SendMode.STEER else MessageKind.PROMPT
        message = Message(new_message_id(), session.id, text, kind, 0.0, MessageState.CLAIMED)
        self._sending.add(message.id)
        try:
            sent = await send_now(self.messages, session, message, mode=mode, clear_draft=clear_draft)
        finally:
            self._sending.discard(message.id)
        self._follow_unconfirmed(session, message, sent)
        return sent

    async def withdraw(self, session: LiveSession, message_id: str) -> None:
        """Take a queued message back. Raises `UnknownMessage` or `NotWithdrawn`."""
        message = await self.messages.get(session.id, message_id)
        if message is None:
            raise UnknownMessage(session.id, message_id)
        if not await self.messages.move(message, MessageState.WITHDRAWN, expected={MessageState.QUEUED}):
            found = await self.messages.get(session.id, message_id) or message
            raise NotWithdrawn(session.id, message_id, found.state)

    async def refuse_all(self, session: LiveSession) -> None:
        """The session was stopped: what is queued goes to nobody."""
        try:
            for message in await self.messages.all(session.id, states={MessageState.QUEUED}):
                await self._refuse(message)
        except StoreUnusable:
            log.exception("session %s: its queued messages could not be refused", session.id)

    def obstacle(self, session: LiveSession) -> str | None:
        """What queued messages wait for; None when nothing is known to be in their way."""
        if session.over:
            return f"the session is {session.over}"
        if session.turns.current is not None:
            return "a turn runs"
        if session.state is not SessionState.READY:
            return f"the session is {session.state}"
        return self._obstacles.get(session.id)

    def reason(self, session_id: str) -> str | None:
        """Why a session must be kept although it does nothing."""
        return "a message is queued for it" if session_id in self._working else None

    def wake(self, session: LiveSession) -> None:
        """Something was queued, or the session goes on, or was found again: deliver what can be."""
        self._woken.add(session.id)
        if session.id not in self._working:
            self._working.add(session.id)
            self.owner.start_soon(self._work, session, name=f"messages of {session.id}")

    async def _keep(self, session: LiveSession, text: str) -> Sent:
        check_text(session.id, text)
        if session.over:
            raise SessionEnded(session.id, session.over)
        message = await self.messages.add(session.id, text, kind=MessageKind.PROMPT)
        if session.state is SessionState.STOPPED:
            await self._refuse(message)
            raise SessionEnded(session.id, str(session.over))
        self.wake(session)
        return Sent(SendOutcome.WAITING, None, message_id=message.id)

    async def _refuse(self, message: Message) -> None:
        await self.messages.move(message, MessageState.REFUSED, expected={MessageState.QUEUED}, reason=STOPPED)

    async def _work(self, session: LiveSession) -> None:
        while session.id in self._woken:
            self._woken.discard(session.id)
            try:
                await self._settle_claimed(session)
                await self._deliver_queued(session)
            except StoreUnusable as error:
                log.warning("session %s: %s; its messages wait", session.id, error)
                self._woken.add(session.id)
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
            except Exception:  # foreign code: an installed adapter may raise anything, and its fault ends no server
                log.exception("session %s: its messages wait until somebody sends one", session.id)
        self._working.discard(session.id)

    async def _settle_claimed(self, session: LiveSession) -> None:
        for message in await self.messages.all(session.id, states={MessageState.CLAIMED}):
            if message.id not in self._sending and not await unsettled.settle(self.messages, session, message):
                self._follow(session, message)

    async def _deliver_queued(self, session: LiveSession) -> None:
        while await self.messages.all(session.id, states={MessageState.QUEUED}) and await _comes_free(session):
            queued = await self.messages.all(session.id, states={MessageState.QUEUED})
            if queued:
                await self._deliver(session, queued[0])

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
            self._follow_unconfirmed(session, message, sent)

    def _follow_unconfirmed(self, session: LiveSession, message: Message, sent: Sent) -> None:
        if sent.outcome is SendOutcome.UNCONFIRMED:
            self._follow(session, message)

    def _follow(self, session: LiveSession, message: Message) -> None:
        self.owner.start_soon(unsettled.follow, self.messages, session, message, name=f"follow {message.id}")


async def _comes_free(session: LiveSession) -> bool:
    """Wait until a queued message can be delivered; False when the session is over."""
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
