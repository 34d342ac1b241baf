"""One send: place the text, see it in the composer, submit it, and prove that it left.

The text is never placed twice. Submit is pressed again only while the composer provably still holds our text.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from mcp_agent.adapter import Composer
from mcp_agent.errors import PaneDead, PaneGone, SendRefused, SessionBlocked, SessionEnded
from mcp_agent.sessions.live import ExpectedPrompt, LiveSession
from mcp_agent.sessions.signals import ENDED, SessionState

SHOWN_WITHIN = timedelta(seconds=10)
"""A CLI that has not drawn a placed text by then is not going to."""
ACCEPTED_WITHIN = timedelta(seconds=10)
"""A CLI that has not taken a submitted text by then has probably swallowed it."""
SUBMIT_AGAIN_AFTER = timedelta(seconds=2)
LONGEST_PROMPT_BYTES = 1024 * 1024


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


async def send(session: LiveSession, text: str) -> Sent:
    """Give the session a prompt.

    Raises `SendRefused`, `SessionBlocked` or `SessionEnded`, each with nothing submitted.
    """
    _check_text(session, text)
    async with session.input_lock:
        _check_state(session)
        await _check_composer(session)
        guarded = session.adapter.guard(text)
        expected = session.expect_prompt(guarded)
        try:
            await session.terminal.paste(session.pane, guarded)
            return await _submit(session, expected)
        except (PaneDead, PaneGone) as error:
            raise SessionEnded(session.id, str(error)) from error
        finally:
            session.forget_prompt(expected)


def _check_text(session: LiveSession, text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if not text.strip():
        raise SendRefused(session.id, "the prompt is empty")
    if size > LONGEST_PROMPT_BYTES:
        raise SendRefused(session.id, f"the prompt has {size} bytes, {LONGEST_PROMPT_BYTES} is the most")
    unsendable = next((c for c in text if (c < " " and c not in "\n\r\t") or "\ud800" <= c <= "\udfff"), None)
    if unsendable is not None:
        raise SendRefused(session.id, f"the prompt holds the control character U+{ord(unsendable):04X}")


def _check_state(session: LiveSession) -> None:
    state, dialog = session.state, session.status.dialog
    if state in ENDED:
        raise SessionEnded(session.id, f"{state} ({session.status.detail})" if session.status.detail else state)
    if state is SessionState.BLOCKED and dialog is not None:
        raise SessionBlocked(session.id, dialog.name, dialog.advice, session.screen.text)
    if state is SessionState.WAITING:
        raise SendRefused(
            session.id, f"it waits for an answer ({session.status.detail}), a prompt would be taken as one"
        )
    if state is SessionState.STARTING:
        raise SendRefused(session.id, "it is still starting")


async def _check_composer(session: LiveSession) -> None:
    composer = session.adapter.composer(await session.look())
    _check_state(session)
    if composer is None:
        raise SendRefused(session.id, "no prompt is visible on its screen")
    if composer.draft:
        raise SendRefused(session.id, "somebody's draft stands in its composer")


async def _submit(session: LiveSession, expected: ExpectedPrompt) -> Sent:
    shown = await session.wait_until(lambda: _holds(session, expected.text), limit=SHOWN_WITHIN)
    if not shown:
        return Sent(SendOutcome.UNCONFIRMED, None)
    presses = ACCEPTED_WITHIN // SUBMIT_AGAIN_AFTER
    for press in range(presses):
        if press == 0 or _holds(session, expected.text):
            await session.terminal.press(session.pane, *session.adapter.submit_keys)
        if await session.wait_until(expected.arrived.is_set, limit=SUBMIT_AGAIN_AFTER):
            break
        await session.look()
    if expected.turn is None:
        return Sent(SendOutcome.UNCONFIRMED, None)
    outcome = SendOutcome.QUEUED if expected.joined else SendOutcome.DELIVERED
    return Sent(outcome, expected.turn.id)


def _holds(session: LiveSession, text: str) -> bool:
    composer = session.adapter.composer(session.screen)
    return composer is not None and shows(composer, text)


def shows(composer: Composer, text: str) -> bool:
    """The composer holds this text, or a chip for it, or the end of it that fits on the screen."""
    if composer.is_chip:
        return True
    drawn, meant = "".join(composer.draft.split()), "".join(text.split())
    return bool(drawn) and meant.endswith(drawn)
