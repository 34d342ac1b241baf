"""The owner's routes about what happened to sessions: pages from a cursor on, waited for or streamed."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import JSONResponse, Response

from mcp_agent.errors import TmuxUnavailable, UnknownSession, UsageError
from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.server.connection import while_connected
from mcp_agent.server.event_stream import EventStream, Lines
from mcp_agent.server.runtime import Runtime
from mcp_agent.sessions.record import load_record
from mcp_agent.sessions.store.events import EventPage, SessionEvent
from mcp_agent.sessions.store.store import SessionStore

router = APIRouter(dependencies=[Depends(owner)])

Json = dict[str, object]

LISTED = 500
STREAM = "text/event-stream"
QUIET = timedelta(seconds=15)
"""A stream on which nothing happens says at least that it lives."""

Cursor = Annotated[int, Query(ge=0, lt=2**63)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Wait = Annotated[float, Query(ge=0, le=timedelta(days=1).total_seconds(), allow_inf_nan=False)]
LastSeen = Annotated[int | None, Header(alias="Last-Event-ID", ge=0, lt=2**63)]


@router.get("/events")
async def events(
    request: Request,
    runtime: RuntimeOf,
    last_seen: LastSeen = None,
    after: Cursor = 0,
    limit: Limit = LISTED,
    wait_seconds: Wait = 0,
) -> Response:
    """Events of all sessions after a cursor; see `session_events`."""
    return await _answer(request, runtime, _Asked(None, after if last_seen is None else last_seen, limit), wait_seconds)


@router.get("/sessions/{session_id}/events")
async def session_events(
    request: Request,
    session_id: str,
    runtime: RuntimeOf,
    last_seen: LastSeen = None,
    after: Cursor = 0,
    limit: Limit = LISTED,
    wait_seconds: Wait = 0,
) -> Response:
    """Events of one session after a cursor, oldest first: as soon as there are any, or when the wait is over.

    `next` is the cursor to go on from. `gap` says that older events after the cursor are not kept any more, `over`
    that the session is over and all is told. To a client that accepts an event stream, events are sent as they come,
    until the client leaves, the session is over, or the server stops.
    """
    _is_over(runtime, session_id)
    asked = _Asked(session_id, after if last_seen is None else last_seen, limit)
    return await _answer(request, runtime, asked, wait_seconds)


@dataclass(frozen=True, slots=True)
class _Asked:
    session_id: str | None
    after: int
    limit: int


async def _answer(request: Request, runtime: Runtime, asked: _Asked, wait_seconds: float) -> Response:
    store = runtime.sessions.store
    page = store.events(after=asked.after, session_id=asked.session_id, limit=asked.limit)
    if asked.after > page.newest:
        raise UsageError(f"there is no event {asked.after} yet; the newest is {page.newest}")
    if STREAM in request.headers.get("accept", ""):
        return EventStream(_lines(runtime, asked), stop=runtime.stop_requested, media_type=STREAM)
    limit = timedelta(seconds=wait_seconds)
    page = await while_connected(
        request, lambda: _page(store, asked, limit, over=_over(runtime, asked)), stop=runtime.stop_requested
    )
    return JSONResponse(
        {
            "events": [asdict(event) for event in page.events],
            "next": page.next,
            "gap": page.gap,
            "newest": page.newest,
            "over": not page.events and _over(runtime, asked)(),
        }
    )


async def _page(store: SessionStore, asked: _Asked, limit: timedelta, *, over: Callable[[], bool]) -> EventPage:
    """The next events, once there are any; an empty page when the session is over, or the wait."""
    with anyio.move_on_after(limit.total_seconds()):
        while True:
            arrived, ended = store.arrived, over()
            page = store.events(after=asked.after, session_id=asked.session_id, limit=asked.limit)
            if page.events or ended:
                return page
            await arrived.wait()
    return store.events(after=asked.after, session_id=asked.session_id, limit=asked.limit)


async def _lines(runtime: Runtime, asked: _Asked) -> Lines:
    over = _over(runtime, asked)
    while True:
        page = await _page(runtime.sessions.store, asked, QUIET, over=over)
        if page.gap:
            yield f"event: gap\ndata: {json.dumps({'after': asked.after})}\n\n"
        for event in page.events:
            yield _line(event)
        if not page.events:
            if over():
                return
            yield ":\n\n"
        asked = _Asked(asked.session_id, page.next, asked.limit)


def _line(event: SessionEvent) -> str:
    return f"id: {event.seq}\nevent: {event.kind}\ndata: {json.dumps(asdict(event))}\n\n"


def _over(runtime: Runtime, asked: _Asked) -> Callable[[], bool]:
    return lambda: asked.session_id is not None and _is_over(runtime, asked.session_id)


def _is_over(runtime: Runtime, session_id: str) -> bool:
    """Raises `UnknownSession` for one that is not even on record."""
    try:
        over = runtime.sessions.get(session_id).over is not None
        return over and not runtime.sessions.is_closing(session_id)
    except TmuxUnavailable:
        return False
    except UnknownSession:
        if load_record(runtime.state, session_id) is None:
            raise
        return True
