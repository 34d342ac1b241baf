"""Messages whose outcome nobody recorded: what the provider itself told since the claim decides, and nothing else.

A prompt with the same words is evidence that it arrived. There is no evidence that one did not: a prompt may be on its
way. Such a message is `unconfirmed`, stays so until the provider tells of it after all, and is never sent again.
"""

import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta

from mcp_agent.errors import KeyboardTaken, SessionEnded, StoreUnusable, TmuxError
from mcp_agent.sessions.input.admission import is_idle
from mcp_agent.sessions.input.composer import clear, holds
from mcp_agent.sessions.input.keyboard import keyboard
from mcp_agent.sessions.input.messages import Message, Messages, MessageState
from mcp_agent.sessions.live import ExpectedPrompt, LiveSession
from mcp_agent.sessions.turns import Turn
from mcp_agent.sessions.words import same_words

log = logging.getLogger(__name__)

LATE_PROOF_WITHIN = timedelta(minutes=10)
LEFT_BEHIND = "the server died while it was sent, and the CLI told nothing of it"
TAKEN_OUT = f"{LEFT_BEHIND}; its text stood in the composer and was taken out"


async def settle(messages: Messages, session: LiveSession, message: Message) -> bool:
    """Decide what became of a message that a dead server left claimed. Whether the CLI has told of it."""
    with suppress(TmuxError):
        await session.look()
    if turn := arrived_in(session, message):
        state = MessageState.DELIVERED if _began(turn, message) else MessageState.QUEUED
        await messages.move(message, state, expected={MessageState.SENDING}, turn_id=turn.id)
        return True
    reason = TAKEN_OUT if await _take_out(session, message) else LEFT_BEHIND
    await messages.move(message, MessageState.UNCONFIRMED, expected={MessageState.SENDING}, reason=reason)
    return False


async def follow(messages: Messages, session: LiveSession, message: Message) -> None:
    """An unconfirmed message arrived after all, if the CLI tells of it within some minutes."""
    expected = ExpectedPrompt(session.adapter.guard(message.text), message_id=message.id)
    session.expect(expected)
    try:
        await session.wait_until(lambda: expected.turn is not None or bool(session.over), limit=LATE_PROOF_WITHIN)
    finally:
        session.forget_prompt(expected)
    if expected.turn is not None:
        state = MessageState.QUEUED if expected.joined else MessageState.DELIVERED
        log.info("session %s: message %s arrived late", session.id, message.id)
        try:
            await messages.move(message, state, expected={MessageState.UNCONFIRMED}, turn_id=expected.turn.id)
        except StoreUnusable as error:
            log.warning("session %s: message %s stays unconfirmed: %s", session.id, message.id, error)


def arrived_in(session: LiveSession, message: Message) -> Turn | None:
    """The turn that has the message by the provider's own word, told since the claim."""
    text, since = session.adapter.guard(message.text), message.claimed_at or message.created_at
    turns = session.turns.all
    return next((turn for turn in turns if turn.message_id == message.id), None) or next(
        (turn for turn in turns if _has(turn, text, since)), None
    )


def _has(turn: Turn, text: str, since: float) -> bool:
    if turn.started_at >= since and turn.message_id is None and same_words(turn.prompt, text):
        return True
    return (turn.ended_at is None or turn.ended_at >= since) and _any_same(turn.live_inputs, text)


def _any_same(texts: Iterable[str], text: str) -> bool:
    return any(same_words(one, text) for one in texts)


def _began(turn: Turn, message: Message) -> bool:
    return turn.message_id == message.id or not _any_same(turn.live_inputs, message.text)


async def _take_out(session: LiveSession, message: Message) -> bool:
    """Clear a composer that holds this text and nothing else, so that it is in nobody's way."""
    text = session.adapter.guard(message.text)
    try:
        async with keyboard(session):
            await session.look()
            return is_idle(session) and _holds_it_all(session, text) and await clear(session)
    except (TmuxError, KeyboardTaken, SessionEnded):
        return False


def _holds_it_all(session: LiveSession, text: str) -> bool:
    """A stand-in could be for anything."""
    composer = session.adapter.composer(session.screen)
    return composer is not None and not composer.is_chip and holds(session, text)
