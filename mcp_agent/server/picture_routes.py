"""The owner's route to a picture of a pane: its screen with colours, for people and reports."""

from fastapi import APIRouter, Depends

from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.tmux.screen import styled

router = APIRouter(dependencies=[Depends(owner)])

Json = dict[str, object]


@router.get("/sessions/{session_id}/picture")
async def show_picture(session_id: str, runtime: RuntimeOf) -> Json:
    """The pane as it is now: lines joined over wraps, with their styles as SGR sequences and no other control.

    Taking a picture does not look on the session's behalf: its state, events and clocks are as if nobody had asked.
    Refused with `PaneGone` when there is no pane any more.
    """
    session = runtime.sessions.get(session_id)
    capture = await session.terminal.capture(session.pane)
    columns, rows = (session.record.options and session.record.options.size) or runtime.sessions.size
    lines = list(styled(capture.printed or capture.lines))
    return {"id": session.id, "title": capture.title, "columns": columns, "rows": rows, "lines": lines}
