"""The owner's routes about turns."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from mcp_agent.errors import UsageError
from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.server.connection import while_connected
from mcp_agent.server.views import turn_view
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import SessionState

router = APIRouter(prefix="/sessions/{session_id}", dependencies=[Depends(owner)])

Json = dict[str, object]
WaitSeconds = Annotated[float, Field(ge=0, le=timedelta(days=366).total_seconds(), allow_inf_nan=False)]


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
    session = runtime.sessions.get(session_id)
    if session.turns.get(turn_id) is None:
        raise UsageError(f"session {session_id} has no turn {turn_id}")
    limit = timedelta(seconds=wait_seconds)

    def holds() -> bool:
        return _is_over(session, turn_id) or (until_waiting and session.state is SessionState.WAITING)

    await while_connected(request, lambda: session.wait_until(holds, limit=limit), stop=runtime.stop_requested)
    turn = session.turns.get(turn_id)
    assert turn is not None
    return {**turn_view(turn), "session_state": session.state, "session_detail": session.status.detail}


def _is_over(session: LiveSession, turn_id: str) -> bool:
    turn = session.turns.get(turn_id)
    return session.status.end is not None or turn is None or turn.ended is not None
