"""A person's way to give a CLI one of its own commands: typed, so that it is dispatched and not taken for a paste."""

from datetime import timedelta
from enum import StrEnum

import anyio

from mcp_agent.errors import (
    CommandRefused,
    PaneDead,
    PaneGone,
    SessionEnded,
    TmuxCommandFailed,
    TmuxError,
    TmuxUnavailable,
)
from mcp_agent.sessions.input.admission import free_composer, look_again
from mcp_agent.sessions.input.composer import draft, holds, see
from mcp_agent.sessions.input.keyboard import keyboard
from mcp_agent.sessions.input.sending import HELD_WITHIN, SUBMIT_AFTER, check_text, press_alone, press_submit
from mcp_agent.sessions.live import LiveSession

LONGEST_COMMAND = 1000
"""Characters. They are typed one by one."""
LEFT_WITHIN = timedelta(seconds=2)
"""A popup that ate the first Enter shows the command still; a CLI that took it has cleared its composer by then."""
MOST_PRESSES_MORE = 2


class CommandOutcome(StrEnum):
    """Whether the command left the composer; what it did is between the CLI and its user."""

    EXECUTED = "executed"
    UNCONFIRMED = "unconfirmed"


async def command(session: LiveSession, text: str) -> CommandOutcome:
    """Type one command and run it once.

    Raises `CommandRefused` for what is none, and as `input.send` does, each with nothing submitted.
    """
    _check(session, text)
    async with session.send_lock, keyboard(session):
        try:
            await free_composer(session, clear_draft=False)
            async with session.terminal.alone(session.pane) as attended:
                await look_again(session, attended=attended)
                pressed = await _type(session, text) and await press_submit(session, text)
            return await _until_left(session, text) if pressed else CommandOutcome.UNCONFIRMED
        except (PaneDead, PaneGone) as error:
            raise SessionEnded(session.id, session.over or str(error)) from error


async def _type(session: LiveSession, text: str) -> bool:
    """Whether the composer shows the command and nothing else; False when tmux does not say."""
    try:
        await session.terminal.type_text(session.pane, text)
        shown = await see(session, lambda: holds(session, text), limit=HELD_WITHIN)
    except (TmuxUnavailable, TmuxCommandFailed):
        return False
    await anyio.sleep(SUBMIT_AFTER.total_seconds())
    return shown


async def _until_left(session: LiveSession, text: str) -> CommandOutcome:
    """Submit again as long as the composer provably holds the whole command and nothing else."""
    for _ in range(MOST_PRESSES_MORE):
        if await _left(session):
            return CommandOutcome.EXECUTED
        if not await press_alone(session, text):
            return CommandOutcome.UNCONFIRMED
    return CommandOutcome.EXECUTED if await _left(session) else CommandOutcome.UNCONFIRMED


async def _left(session: LiveSession) -> bool:
    """Whether nothing of the command stands in the composer any more; a CLI that ends by it has taken it, too."""
    try:
        return await see(session, lambda: bool(session.over) or not draft(session), limit=LEFT_WITHIN)
    except TmuxError:
        return bool(session.over)


def _check(session: LiveSession, text: str) -> None:
    check_text(session.id, text)
    if len(text) > LONGEST_COMMAND or "\n" in text or "\t" in text or "\r" in text:
        raise CommandRefused(session.id, f"a command is one line of at most {LONGEST_COMMAND} characters")
    if not session.adapter.is_command(text):
        raise CommandRefused(session.id, f"{session.adapter.title} has no command {text[:60]!r}; send a prompt instead")
