"""Interrupting what a CLI works on, so that the session can still be used."""

from contextlib import suppress
from datetime import timedelta
from typing import Literal

import anyio

from mcp_agent.adapter import Ready, Source, TurnEnded, TurnOutcome
from mcp_agent.errors import PaneDead, PaneGone, SessionEnded, TmuxError
from mcp_agent.sessions.input.keyboard import keyboard
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.looking import SETTLE
from mcp_agent.sessions.signals import Interrupting, SessionState
from mcp_agent.sessions.turns import Turn

INTERRUPTED_WITHIN = timedelta(seconds=10)
"""A CLI that still works by then, or shows no prompt after a deadline, is not going to come back.

It is also as long as an event takes to be told, so that the end of one turn is not told in the next.
"""
NEVER_TOLD = "its end was never told"


async def interrupt(session: LiveSession) -> bool:
    """Whether what ran is over. Overtakes sends that wait, and waits for the one that runs.

    Raises `SessionEnded`, or `KeyboardTaken` when another process does not let go of the pane.
    """
    async with keyboard(session):
        turn = session.turns.current
        if session.over:
            raise SessionEnded(session.id, session.over)
        if not (turn or _works(session)):
            return False
        await _stop_work(session, turn, by="person")
    return _is_done(session, turn)


async def interrupt_at_deadline(session: LiveSession, turn_id: str) -> tuple[bool, bool]:
    """The caller's limit for a turn has passed: whether it was interrupted, and whether the session can still be used.

    It can when it is prompt-ready within ten seconds, or goes on with another prompt. A turn that is over is left
    alone, and whatever runs after it too.
    """
    began_seconds = anyio.current_time()
    async with keyboard(session):
        turn = session.turns.current
        if session.over:
            raise SessionEnded(session.id, session.over)
        if turn is None or turn.id != turn_id:
            return False, True
        await _stop_work(session, turn, by="deadline")
    left = began_seconds + INTERRUPTED_WITHIN.total_seconds() - anyio.current_time()
    usable = await session.wait_until(
        lambda: bool(session.over) or _is_usable(session, turn), limit=timedelta(seconds=max(left, 0))
    )
    return True, usable and not session.over


async def _stop_work(session: LiveSession, turn: Turn | None, *, by: Literal["person", "deadline"]) -> None:
    session.apply(Interrupting(by))
    try:
        await session.terminal.press(session.pane, *session.adapter.interrupt_keys)
    except (PaneDead, PaneGone) as error:
        raise SessionEnded(session.id, session.over or str(error)) from error
    over = await session.wait_until(lambda: bool(session.over) or _is_done(session, turn), limit=INTERRUPTED_WITHIN)
    if turn is not None and not over and await _stays_idle(session) and not _is_done(session, turn):
        session.apply(TurnEnded(TurnOutcome.INTERRUPTED, error=NEVER_TOLD, source=Source.SCREEN))


async def _stays_idle(session: LiveSession) -> bool:
    """Whether the CLI shows nothing but its prompt, look after look."""
    with suppress(TmuxError):
        if await _shows_prompt(session):
            await anyio.sleep(SETTLE.total_seconds())
            return await _shows_prompt(session)
    return False


async def _shows_prompt(session: LiveSession) -> bool:
    """A screen that says nothing leaves the reading as it was; one with a prompt has a composer."""
    screen = await session.look()
    return isinstance(session.status.reading, Ready) and session.adapter.composer(screen) is not None


def _works(session: LiveSession) -> bool:
    return session.state in {SessionState.BUSY, SessionState.WAITING}


def _is_done(session: LiveSession, turn: Turn | None) -> bool:
    """Whether the turn is over; without one, whether the screen says that the CLI works no more."""
    if turn is None:
        return not session.over and not _works(session)
    now = session.turns.get(turn.id)
    return now is not None and now.ended is not None


def _is_usable(session: LiveSession, turn: Turn) -> bool:
    """Its turn is over, and it shows its prompt or works on the next one."""
    works_on = session.turns.current is not None and session.turns.current.id != turn.id
    return _is_done(session, turn) and (works_on or session.state in {SessionState.READY, SessionState.LIMITED})
