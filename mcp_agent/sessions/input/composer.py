"""What a session's composer holds, waited for; and a draft in it thrown away when somebody said so."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import anyio

from mcp_agent.adapter import Composer
from mcp_agent.sessions.input.drawn import is_drawing
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import ENDED, SessionState

FIRST_LOOK_AFTER = timedelta(milliseconds=10)
"""A CLI that draws at once is not kept waiting; one that does not is looked at ever more rarely."""
LOOK_EVERY = timedelta(milliseconds=500)
CLEARED_WITHIN = timedelta(seconds=30)
"""A press may take away one line only, and drafts have many."""

TAKES_NOTHING = ENDED | {SessionState.STARTING, SessionState.BLOCKED, SessionState.WAITING}


async def see(session: LiveSession, holds: Callable[[], bool], *, limit: timedelta) -> bool:
    """Look until the condition holds on a screen captured after this call; False when the limit passed first."""
    deadline_seconds, pause = anyio.current_time() + limit.total_seconds(), FIRST_LOOK_AFTER
    await session.look()
    while not holds() and (left := timedelta(seconds=deadline_seconds - anyio.current_time())) > timedelta(0):
        await session.wait_until(holds, limit=min(left, pause))
        await session.look()
        pause = min(pause * 2, LOOK_EVERY)
    return holds()


async def clear(session: LiveSession) -> bool:
    """Whether the composer is empty now. Nothing is pressed into a question, or into a screen without a composer."""
    deadline_seconds = anyio.current_time() + CLEARED_WITHIN.total_seconds()
    while (before := draft(session)) and session.state not in TAKES_NOTHING:
        if anyio.current_time() >= deadline_seconds:
            return False
        await session.terminal.press(session.pane, *session.adapter.clear_keys)
        await see(session, partial(_differs, session, before), limit=LOOK_EVERY)
    return before == ""


def _differs(session: LiveSession, before: str) -> bool:
    return draft(session) != before


def draft(session: LiveSession) -> str | None:
    """What the composer holds; None when none is visible."""
    composer = session.adapter.composer(session.screen)
    return None if composer is None else composer.draft


def holds(session: LiveSession, text: str) -> bool:
    composer = session.adapter.composer(session.screen)
    return composer is not None and shows(composer, text)


def is_mixed(session: LiveSession, text: str) -> bool:
    """The composer holds our text and more: waiting longer makes nothing of that."""
    drawn, meant = (draft(session) or "").split(), text.split()
    return len("".join(drawn)) > len("".join(meant)) and "".join(meant) in "".join(drawn)


def shows(composer: Composer, text: str) -> bool:
    """The composer holds this text, or a chip for it, or the end of it that fits on the screen."""
    return composer.is_chip or is_drawing(composer.draft, text)
