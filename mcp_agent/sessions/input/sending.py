"""One send: place the text, see it in the composer, submit it, and prove that it left.

The text is never placed twice. Submit is pressed only while the composer provably holds our text and nothing else:
from before the text is placed until submit is pressed, what attached people type is dropped.
"""

import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from functools import partial

import anyio
import anyio.lowlevel

from mcp_agent.adapter import Busy, LiveInput
from mcp_agent.errors import (
    PaneDead,
    PaneGone,
    SendRefused,
    SessionEnded,
    TmuxCommandFailed,
    TmuxError,
    TmuxUnavailable,
)
from mcp_agent.sessions.input.admission import (
    free_composer,
    is_idle,
    look_again,
    nothing_sent,
    wait_for_last_keys,
    works,
)
from mcp_agent.sessions.input.composer import TAKES_NOTHING, draft, holds, is_mixed, see
from mcp_agent.sessions.input.drawn import is_visible
from mcp_agent.sessions.input.keyboard import keyboard
from mcp_agent.sessions.live import ExpectedPrompt, LiveSession

log = logging.getLogger(__name__)

HELD_WITHIN = timedelta(seconds=1)
"""People who type wait so long for a CLI to draw what we placed, and no longer."""
SHOWN_WITHIN = timedelta(seconds=9)
"""A CLI that has not drawn a placed text by then, after the time above, is not going to."""
SUBMIT_AFTER = timedelta(milliseconds=130)
"""Some CLIs take an Enter that comes up to 120 ms after they read a paste for a part of it; what is shown was read."""
ACCEPTED_WITHIN = timedelta(seconds=10)
"""A CLI that has not taken a submitted text by then has probably swallowed it."""
SUBMIT_AGAIN_AFTER = timedelta(seconds=2)
LONGEST_PROMPT_BYTES = 1024 * 1024

_UNSENDABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_MOST_TOLD = 80
_WITHOUT_PROOF = f"submit was pressed, and the CLI said nothing of the prompt within {ACCEPTED_WITHIN.seconds} s"
_NOT_PRESSED = "its screen changed before submit could be pressed"


class SendMode(StrEnum):
    """When a prompt may be given to the CLI."""

    NOW = "now"
    """At once; while a turn runs it is live input."""
    STEER = "steer"
    """Only into the turn that runs."""
    QUEUE = "queue"
    """Only when nothing runs; until then it is kept."""
    TURN = "turn"
    """A turn of its own: at once when nothing runs or waits, otherwise as `queue`."""


class SendOutcome(StrEnum):
    DELIVERED = "delivered"
    """The CLI started a turn with this text."""
    QUEUED = "queued"
    """The CLI holds this text for the turn that runs."""
    UNCONFIRMED = "unconfirmed"
    """Nobody knows whether it arrived. It must not be sent again without looking."""
    WAITING = "waiting"
    """It is on disk, and is delivered when the session can take it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of one send. `turn_id` is None when no turn is known to have it; `reason` says why."""

    outcome: SendOutcome
    turn_id: str | None
    reason: str = field(default="", compare=False)
    message_id: str | None = field(default=None, compare=False)


UNCONFIRMED = Sent(SendOutcome.UNCONFIRMED, None)


async def send(
    session: LiveSession,
    text: str,
    *,
    mode: SendMode = SendMode.NOW,
    clear_draft: bool = False,
    claim: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint,
    message_id: str | None = None,
) -> Sent:
    """Give the session a prompt. `clear_draft` throws away what somebody left in the composer.

    `claim` is awaited when nothing stands in the way, right before the text is placed; what it raises ends the send.
    Raises `SendRefused`, `SessionBlocked`, `SessionEnded`, `KeyboardTaken` or `TmuxUnavailable`, each with nothing
    submitted.
    """
    check_text(session.id, text)
    async with session.send_lock, keyboard(session):
        try:
            await free_composer(session, clear_draft=clear_draft)
            _check_mode(session, mode)
            claim_now = partial(_claim, session, mode, claim)
            return await _transact(session, session.adapter.guard(text), claim=claim_now, message_id=message_id)
        except (PaneDead, PaneGone) as error:
            raise SessionEnded(session.id, session.over or str(error)) from error


def check_text(session_id: str, text: str) -> None:
    """Raises `SendRefused` for a text that could not arrive as it is."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if not is_visible(text):
        raise SendRefused(session_id, "the prompt is empty")
    if size > LONGEST_PROMPT_BYTES:
        raise SendRefused(session_id, f"the prompt has {size} bytes, {LONGEST_PROMPT_BYTES} is the most")
    if found := _UNSENDABLE.search(text):
        raise SendRefused(session_id, f"the prompt holds the control character U+{ord(found[0]):04X}")


def _check_mode(session: LiveSession, mode: SendMode) -> None:
    if mode is SendMode.STEER and session.adapter.live_input is LiveInput.NEXT_TURN:
        raise SendRefused(session.id, "its CLI takes nothing into a turn that runs; send it without --steer")
    if mode is SendMode.STEER and session.turns.current is None:
        raise SendRefused(session.id, "no turn runs that it could steer; send it without --steer")
    if mode is SendMode.QUEUE and not is_idle(session):
        raise SendRefused(session.id, f"it is {session.state}, and a queued message starts a turn of its own")
    if mode is SendMode.TURN and works(session):
        raise SendRefused(session.id, "a turn runs, and this prompt starts one of its own")


async def _claim(session: LiveSession, mode: SendMode, claim: Callable[[], Awaitable[object]]) -> None:
    """A turn may have begun since the first look."""
    _check_mode(session, mode)
    await claim()


async def _transact(
    session: LiveSession, text: str, *, claim: Callable[[], Awaitable[object]], message_id: str | None
) -> Sent:
    expected, was_busy = ExpectedPrompt(text, message_id=message_id), _is_busy(session)
    try:
        try:
            async with session.terminal.alone(session.pane) as attended:
                await look_again(session, attended=attended)
                await claim()
                shown = await _place(session, text)
                session.expect(expected)
                pressed = shown and await press_submit(session, text)
        except (TmuxUnavailable, TmuxCommandFailed) as error:
            raise nothing_sent(session, error) from error
        if not shown and not await _shows_late(session, text):
            return _never_shown(session)
        return await _until_taken(session, expected, pressed=pressed, was_busy=was_busy)
    finally:
        session.forget_prompt(expected)


async def _place(session: LiveSession, text: str) -> bool:
    """Paste the text, and whether the composer showed it in time for a submit.

    It may have arrived, too, when tmux does not say so: the screen will tell.
    """
    try:
        await session.terminal.paste(session.pane, text)
    except TmuxCommandFailed as error:
        raise SendRefused(session.id, str(error)) from error
    except TmuxUnavailable as error:
        log.warning("session %s: %s; its screen tells whether the prompt arrived", session.id, error)
    return await _shows(session, text, limit=HELD_WITHIN)


async def _shows_late(session: LiveSession, text: str) -> bool:
    """The same of a CLI that is slow to draw, while people may type again."""
    return not is_mixed(session, text) and await _shows(session, text, limit=SHOWN_WITHIN)


async def _shows(session: LiveSession, text: str, *, limit: timedelta) -> bool:
    """Whether the composer holds our text and no more, so that submit may be pressed now, or the session is over.

    False when tmux does not say.
    """
    try:
        shown = await see(session, lambda: bool(session.over) or holds(session, text), limit=limit)
    except (TmuxUnavailable, TmuxCommandFailed):
        return False
    if shown:
        await anyio.sleep(SUBMIT_AFTER.total_seconds())
    return shown


def _never_shown(session: LiveSession) -> Sent:
    if session.over:
        raise SessionEnded(session.id, session.over)
    found = draft(session)
    shows = "no composer is visible" if found is None else f"its composer shows {found[:_MOST_TOLD]!r}"
    return Sent(SendOutcome.UNCONFIRMED, None, f"{shows} instead of the prompt alone; submit was not pressed")


async def _until_taken(session: LiveSession, expected: ExpectedPrompt, *, pressed: bool, was_busy: bool) -> Sent:
    for attempt in range(ACCEPTED_WITHIN // SUBMIT_AGAIN_AFTER):
        took_it = pressed and _is_busy(session) and not was_busy
        if not took_it and (attempt or not pressed):
            pressed = await press_alone(session, expected.text) or pressed
        if await session.wait_until(lambda: bool(expected.turn or session.over), limit=SUBMIT_AGAIN_AFTER):
            break
        session.take_events()
        if expected.turn is not None:
            break
    session.take_events()
    if expected.turn is not None:
        return Sent(SendOutcome.QUEUED if expected.joined else SendOutcome.DELIVERED, expected.turn.id)
    if session.over and not pressed:
        raise SessionEnded(session.id, session.over)
    return Sent(SendOutcome.UNCONFIRMED, None, _WITHOUT_PROOF if pressed else _NOT_PRESSED)


async def press_alone(session: LiveSession, text: str) -> bool:
    """As `press_submit`, with nobody typing in between."""
    try:
        async with session.terminal.alone(session.pane) as attended:
            await wait_for_last_keys(attended=attended)
            return await press_submit(session, text)
    except TmuxError:
        return False


async def press_submit(session: LiveSession, text: str) -> bool:
    """Whether submit was pressed, or may have been: only while the composer holds our text, and no question hides it.

    A screen that cannot be seen counts as hidden.
    """
    try:
        await session.look()
        if session.state in TAKES_NOTHING or not holds(session, text):
            return False
    except TmuxError:
        return False
    try:
        await session.terminal.press(session.pane, *session.adapter.submit_keys)
    except (PaneDead, PaneGone):
        return False
    except TmuxError:
        return True
    return True


def _is_busy(session: LiveSession) -> bool:
    return isinstance(session.status.reading, Busy)
