"""One send: place the text, see it in the composer, submit it, and prove that it left.

The text is never placed twice. Submit is pressed only while the composer provably holds our text.
"""

import logging
import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from mcp_agent.adapter import Busy
from mcp_agent.errors import (
    PaneDead,
    PaneGone,
    SendRefused,
    SessionBlocked,
    SessionEnded,
    TmuxCommandFailed,
    TmuxError,
    TmuxUnavailable,
)
from mcp_agent.sessions.composer import TAKES_NOTHING, clear, draft, holds, see
from mcp_agent.sessions.live import ExpectedPrompt, LiveSession
from mcp_agent.sessions.signals import SessionState
from mcp_agent.sessions.words import normal

log = logging.getLogger(__name__)

FREE_WITHIN = timedelta(seconds=2)
"""A composer that is still drawn with an earlier prompt is empty by then; what stands there longer is a draft."""
SHOWN_WITHIN = timedelta(seconds=10)
"""A CLI that has not drawn a placed text by then is not going to."""
ACCEPTED_WITHIN = timedelta(seconds=10)
"""A CLI that has not taken a submitted text by then has probably swallowed it."""
SUBMIT_AGAIN_AFTER = timedelta(seconds=2)
LONGEST_PROMPT_BYTES = 1024 * 1024

_UNSENDABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class SendOutcome(StrEnum):
    DELIVERED = "delivered"
    """The CLI started a turn with this text."""
    QUEUED = "queued"
    """The CLI holds this text for the turn that runs."""
    UNCONFIRMED = "unconfirmed"
    """Nobody knows whether it arrived. It must not be sent again without looking."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of one send. `turn_id` is None when it is unconfirmed."""

    outcome: SendOutcome
    turn_id: str | None


UNCONFIRMED = Sent(SendOutcome.UNCONFIRMED, None)


async def send(session: LiveSession, text: str, *, clear_draft: bool = False) -> Sent:
    """Give the session a prompt. `clear_draft` throws away what somebody left in the composer.

    Raises `SendRefused`, `SessionBlocked`, `SessionEnded` or `TmuxUnavailable`, each with nothing submitted.
    """
    _check_text(session, text)
    async with session.send_lock, session.input_lock:
        try:
            await _free_composer(session, clear_draft=clear_draft)
            placed = session.adapter.guard(text)
            await _place(session, placed)
            return await _deliver(session, placed)
        except (PaneDead, PaneGone) as error:
            raise SessionEnded(session.id, session.over or str(error)) from error


def _check_text(session: LiveSession, text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if not normal(text).strip():
        raise SendRefused(session.id, "the prompt is empty")
    if size > LONGEST_PROMPT_BYTES:
        raise SendRefused(session.id, f"the prompt has {size} bytes, {LONGEST_PROMPT_BYTES} is the most")
    if found := _UNSENDABLE.search(text):
        raise SendRefused(session.id, f"the prompt holds the control character U+{ord(found[0]):04X}")


def _check_state(session: LiveSession) -> None:
    dialog = session.status.dialog
    if session.over:
        raise SessionEnded(session.id, session.over)
    if session.state is SessionState.BLOCKED and dialog is not None:
        raise SessionBlocked(session.id, dialog.name, dialog.advice, session.screen.text)
    if session.state is SessionState.WAITING:
        raise SendRefused(
            session.id, f"it waits for an answer ({session.status.detail}), a prompt would be taken as one"
        )
    if session.state is SessionState.STARTING:
        raise SendRefused(session.id, "it is still starting")


async def _free_composer(session: LiveSession, *, clear_draft: bool) -> None:
    """See to it that a prompt could be placed and would be nothing but our text."""
    if session.over:
        raise SessionEnded(session.id, session.over)
    try:
        free = await see(session, lambda: session.state in TAKES_NOTHING or draft(session) == "", limit=FREE_WITHIN)
        free = free or (clear_draft and await clear(session))
    except TmuxUnavailable as error:
        raise TmuxUnavailable(f"session {session.id}: {error}; nothing was sent") from error
    _check_state(session)
    if free:
        return
    if draft(session) is None:
        raise SendRefused(session.id, "no prompt is visible on its screen")
    if clear_draft:
        raise SendRefused(session.id, "the draft in its composer could not be cleared")
    raise SendRefused(session.id, "somebody's draft stands in its composer; send with --clear-draft to discard it")


async def _place(session: LiveSession, text: str) -> None:
    """Paste the text. It may have arrived, too, when tmux does not say so: the screen will tell."""
    try:
        await session.terminal.paste(session.pane, text)
    except TmuxCommandFailed as error:
        raise SendRefused(session.id, str(error)) from error
    except TmuxUnavailable as error:
        log.warning("session %s: %s; its screen tells whether the prompt arrived", session.id, error)


async def _deliver(session: LiveSession, text: str) -> Sent:
    try:
        shown = await see(session, lambda: bool(session.over) or holds(session, text), limit=SHOWN_WITHIN)
    except (TmuxUnavailable, TmuxCommandFailed):
        return UNCONFIRMED
    if session.over:
        raise SessionEnded(session.id, session.over)
    if not shown:
        return UNCONFIRMED
    expected = session.expect_prompt(text)
    try:
        return await _submit(session, expected)
    finally:
        session.forget_prompt(expected)


async def _submit(session: LiveSession, expected: ExpectedPrompt) -> Sent:
    pressed, was_busy = False, _is_busy(session)
    for _ in range(ACCEPTED_WITHIN // SUBMIT_AGAIN_AFTER):
        took_it = pressed and _is_busy(session) and not was_busy
        if await _still_holds(session, expected.text) and not took_it:
            pressed = await _press_submit(session) or pressed
        if await session.wait_until(lambda: bool(expected.turn or session.over), limit=SUBMIT_AGAIN_AFTER):
            break
    session.take_events()
    if session.over and not pressed and expected.turn is None:
        raise SessionEnded(session.id, session.over)
    if expected.turn is None:
        return UNCONFIRMED
    return Sent(SendOutcome.QUEUED if expected.joined else SendOutcome.DELIVERED, expected.turn.id)


async def _press_submit(session: LiveSession) -> bool:
    """Whether the keys were pressed, or may have been."""
    try:
        await session.terminal.press(session.pane, *session.adapter.submit_keys)
    except (PaneDead, PaneGone):
        return False
    except TmuxError:
        return True
    return True


async def _still_holds(session: LiveSession, text: str) -> bool:
    """Whether the composer holds our text now, with no question in front of it; a screen that hides says no."""
    try:
        await session.look()
    except TmuxError:
        return False
    return session.state not in TAKES_NOTHING and holds(session, text)


def _is_busy(session: LiveSession) -> bool:
    return isinstance(session.status.reading, Busy)
