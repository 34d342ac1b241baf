"""The owner's routes about turns."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from mcp_agent.errors import TmuxUnavailable, UnknownSession, UsageError
from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.server.connection import while_connected
from mcp_agent.server.runtime import Runtime
from mcp_agent.server.views import turn_view
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import load_record
from mcp_agent.sessions.signals import SessionState
from mcp_agent.sessions.turns import Turn, history

router = APIRouter(prefix="/sessions/{session_id}", dependencies=[Depends(owner)])

Json = dict[str, object]
LISTED = 1000
Limit = Annotated[int, Query(ge=1, le=100_000)]
WaitSeconds = Annotated[float, Field(ge=0, le=timedelta(days=366).total_seconds(), allow_inf_nan=False)]


@router.get("/turns")
async def list_turns(session_id: str, runtime: RuntimeOf, limit: Limit = LISTED) -> Json:
    """The session's turns, oldest first, the newest `limit` of them."""
    try:
        session = _live(runtime, session_id)
    except TmuxUnavailable:
        session = None
    turns = history(runtime.sessions.store, session_id) if session is None else session.turns.all
    return {"session_id": session_id, "turns": [turn_view(turn) for turn in turns[-limit:]]}


@router.get("/turns/{turn_id}")
async def wait_for_turn(
    request: Request,
    session_id: str,
    turn_id: str,
    runtime: RuntimeOf,
    wait_seconds: WaitSeconds = 0,
    *,
    until_waiting: bool = False,
) -> Json:
    """The turn as it is now, or once it is over, or once the session is: whichever comes first within the wait.

    `until_waiting` also ends the wait when the CLI asks its user something.
    """
    session = _live(runtime, session_id)
    if session is None:
        return _told(_find(session_id, turn_id, history(runtime.sessions.store, session_id)), SessionState.STOPPED)
    _find(session_id, turn_id, session.turns.all)
    limit = timedelta(seconds=wait_seconds)

    def holds() -> bool:
        return _is_over(session, turn_id) or (until_waiting and session.state is SessionState.WAITING)

    await while_connected(request, lambda: session.wait_until(holds, limit=limit), stop=runtime.stop_requested)
    turn = _find(session_id, turn_id, session.turns.all)
    return _told(turn, session.state, session.status.detail)


def _live(runtime: Runtime, session_id: str) -> LiveSession | None:
    """The session; None when only its record and its turns are left. Raises as `SessionManager.get` does."""
    try:
        return runtime.sessions.get(session_id)
    except UnknownSession:
        if load_record(runtime.state, session_id) is None:
            raise
        return None


def _find(session_id: str, turn_id: str, turns: Sequence[Turn]) -> Turn:
    found = next((turn for turn in turns if turn.id == turn_id), None)
    if found is None:
        raise UsageError(f"session {session_id} has no turn {turn_id}")
    return found


def _told(turn: Turn, state: SessionState, detail: str | None = None) -> Json:
    return {**turn_view(turn), "session_state": state, "session_detail": detail}


def _is_over(session: LiveSession, turn_id: str) -> bool:
    turn = session.turns.get(turn_id)
    return session.status.end is not None or turn is None or turn.ended is not None
