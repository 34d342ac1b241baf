"""One transaction of a message: claimed on disk before its text is placed, its outcome on disk after."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from mcp_agent.errors import McpAgentError, StoreUnusable
from mcp_agent.sessions.input import sending
from mcp_agent.sessions.input.messages import Message, Messages, MessageState
from mcp_agent.sessions.input.sending import SendMode, SendOutcome, Sent
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import SessionState

log = logging.getLogger(__name__)

_OUTCOMES = {
    SendOutcome.DELIVERED: MessageState.DELIVERED,
    SendOutcome.QUEUED: MessageState.QUEUED,
    SendOutcome.UNCONFIRMED: MessageState.UNCONFIRMED,
}


class NotOurs(Exception):
    """A message was withdrawn or refused before it could be claimed; nothing was placed."""


async def send_now(
    messages: Messages, session: LiveSession, message: Message, *, mode: SendMode, clear_draft: bool
) -> Sent:
    """Place a message that is on record from its claim on. Raises as `sending.send` does.

    A record that cannot be written stops no send: nobody asked for it to be kept.
    """

    async def claim() -> None:
        try:
            await messages.add(
                session.id,
                message.text,
                kind=message.kind,
                message_id=message.id,
                claimed=True,
                deadline_at=message.deadline_at,
            )
        except StoreUnusable as error:
            log.warning("session %s: a prompt is sent without a record: %s", session.id, error)

    return await _transact(
        messages, session, message, mode=mode, clear_draft=clear_draft, claim=claim, unsent=MessageState.REFUSED
    )


async def deliver(messages: Messages, session: LiveSession, message: Message) -> Sent:
    """Place a message that waits. What is refused waits still; raises as `sending.send` does, and `NotOurs`."""

    async def claim() -> None:
        if not await messages.claim(message):
            raise NotOurs

    return await _transact(
        messages, session, message, mode=SendMode.QUEUE, clear_draft=False, claim=claim, unsent=MessageState.WAITING
    )


async def _transact(
    messages: Messages,
    session: LiveSession,
    message: Message,
    *,
    mode: SendMode,
    clear_draft: bool,
    claim: Callable[[], Awaitable[None]],
    unsent: MessageState,
) -> Sent:
    """Once the text is claimed, a cancellation waits for the outcome."""
    claimed = False
    with anyio.CancelScope() as scope:

        async def claim_and_go_on() -> None:
            nonlocal claimed
            scope.shield = True
            await claim()
            claimed = True

        try:
            sent = await sending.send(
                session,
                message.text,
                mode=mode,
                clear_draft=clear_draft,
                claim=claim_and_go_on,
                message_id=message.id,
            )
        except McpAgentError as error:
            if claimed:
                stopped = session.state is SessionState.STOPPED
                await _record(messages, message, MessageState.REFUSED if stopped else unsent, reason=str(error))
            raise
        facts = {"turn_id": sent.turn_id, **({"reason": sent.reason} if sent.reason else {})}
        await _record(messages, message, _OUTCOMES[sent.outcome], **facts)
    return replace(sent, message_id=message.id)


async def _record(messages: Messages, message: Message, state: MessageState, **facts: object) -> None:
    """What became of a claimed message; when that cannot be written, the next server finds it claimed and looks."""
    try:
        await messages.move(message, state, expected={MessageState.SENDING}, **facts)
    except StoreUnusable:
        log.exception(
            "session %s: message %s is %s, which could not be recorded", message.session_id, message.id, state
        )
