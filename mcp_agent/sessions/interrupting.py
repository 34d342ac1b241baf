"""Interrupting what a CLI works on, so that the session can still be used."""

from datetime import timedelta

from mcp_agent.errors import PaneDead, PaneGone, SessionEnded
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import Interrupting, SessionState
from mcp_agent.sessions.turns import Turn

INTERRUPTED_WITHIN = timedelta(seconds=10)


async def interrupt(session: LiveSession) -> bool:
    """Whether what ran is over. Overtakes sends that wait, and waits for the one that runs. Raises `SessionEnded`."""
    async with session.input_lock:
        turn = session.turns.current
        if session.over:
            raise SessionEnded(session.id, session.over)
        if not (turn or _works(session)):
            return False
        session.apply(Interrupting())
        try:
            await session.terminal.press(session.pane, *session.adapter.interrupt_keys)
        except (PaneDead, PaneGone) as error:
            raise SessionEnded(session.id, session.over or str(error)) from error
        await session.wait_until(lambda: bool(session.over) or _is_done(session, turn), limit=INTERRUPTED_WITHIN)
    return _is_done(session, turn)


def _works(session: LiveSession) -> bool:
    return session.state in {SessionState.BUSY, SessionState.WAITING}


def _is_done(session: LiveSession, turn: Turn | None) -> bool:
    """Whether the turn is over; without one, whether the screen says that the CLI works no more."""
    if turn is None:
        return not session.over and not _works(session)
    now = session.turns.get(turn.id)
    return now is not None and now.ended is not None
