"""Messages that a CLI holds for its running turn: where they go when that turn ends before it took them in."""

import logging
from datetime import timedelta

from mcp_agent.errors import StoreUnusable
from mcp_agent.sessions.input.messages import Message, Messages, MessageState
from mcp_agent.sessions.live import ExpectedPrompt, LiveSession

log = logging.getLogger(__name__)

BEGUN_WITHIN = timedelta(seconds=5)
"""A CLI that holds a prompt when its turn ends begins the next turn with it at once."""
LONGEST = timedelta(days=365)


async def follow_held(messages: Messages, session: LiveSession, message: Message, turn_id: str) -> None:
    """The message goes to the turn that really ran with it, if the CLI tells of another one than `turn_id`."""
    expected = ExpectedPrompt(session.adapter.guard(message.text), message_id=message.id)
    session.expect(expected)
    try:
        await _until_told(session, expected, turn_id)
    finally:
        session.forget_prompt(expected)
    turn = expected.turn
    if turn is None or turn.id == turn_id:
        return
    state = MessageState.DELIVERED if turn.message_id == message.id else MessageState.QUEUED
    log.info("session %s: message %s went to turn %s", session.id, message.id, turn.id)
    try:
        await messages.move(message, state, expected={MessageState.QUEUED}, turn_id=turn.id)
    except StoreUnusable as error:
        log.warning("session %s: message %s stays with turn %s: %s", session.id, message.id, turn_id, error)


async def _until_told(session: LiveSession, expected: ExpectedPrompt, turn_id: str) -> None:
    """Return once another turn has the text, or the CLI holds nothing any more."""

    def is_told() -> bool:
        if expected.turn is not None and expected.turn.id == turn_id:
            # Told again of the turn that is known to hold it: the place among those who wait is kept.
            expected.turn, expected.joined = None, False
        return expected.turn is not None or bool(session.over)

    def runs() -> bool:
        return session.turns.current is not None

    while not is_told():
        await session.wait_until(lambda: is_told() or not runs(), limit=LONGEST)
        if not await session.wait_until(lambda: is_told() or runs(), limit=BEGUN_WITHIN):
            return
