"""The routes that a session's bridge uses, all under the session's own token."""

import json
import os
from pathlib import Path
from typing import cast

from fastapi import APIRouter, Depends, Request, Response

from mcp_agent.bridge.strict_json import loads
from mcp_agent.errors import BadRequest
from mcp_agent.server.auth import RuntimeOf, SessionOfToken, owner
from mcp_agent.server.connection import read_body, while_connected
from mcp_agent.server.runtime import Runtime
from mcp_agent.sessions.environment import shared
from mcp_agent.sessions.events import event_of
from mcp_agent.sessions.live import LiveSession
from mcp_agent.timeouts import ToolClass
from mcp_agent.tools import dispatch
from mcp_agent.tools.dispatch import Caller
from mcp_agent.tools.gating import schema_of
from mcp_agent.tools.tool import Category, ToolResult

router = APIRouter(prefix="/s/{session}")
owner_router = APIRouter(dependencies=[Depends(owner)])

OWNER = "owner"
"""Stands for a session in the records of calls that the owner makes by hand."""

Json = dict[str, object]

_ENCODER = json.JSONEncoder(allow_nan=False)
_WHOLE_TEXT = json.JSONEncoder(ensure_ascii=False)


@router.get("/tools")
async def list_tools(live: SessionOfToken, runtime: RuntimeOf) -> Json:
    """The session's tools. The first request says that its bridge is up."""
    live.bridge_is_up()
    return {"tools": _listed(runtime, caller_of(live, runtime))}


@router.post("/tools/virtual/{tool}")
async def call_virtual(request: Request, tool: str, live: SessionOfToken, runtime: RuntimeOf) -> Response:
    return await _call(request, tool, category="virtual", live=live, runtime=runtime)


@router.post("/tools/custom/{tool}")
async def call_custom(request: Request, tool: str, live: SessionOfToken, runtime: RuntimeOf) -> Response:
    return await _call(request, tool, category="custom", live=live, runtime=runtime)


@router.post("/tools/mcp/{server}/{tool}")
async def call_mcp(request: Request, server: str, tool: str, live: SessionOfToken, runtime: RuntimeOf) -> Response:
    return await _call(request, f"{server}/{tool}", category="mcp", live=live, runtime=runtime)


@router.post("/events", status_code=204)
async def event_spooled(request: Request, live: SessionOfToken) -> Response:
    """A hook has spooled an event: look at it now. One that could not be spooled is the body, and has a name."""
    if body := await read_body(request):
        if not (name := request.headers.get("x-event-name")):
            raise BadRequest("the header X-Event-Name is missing")
        live.take_handed(name, event_of(body))
    else:
        live.take_events()
    return Response(status_code=204)


@owner_router.get("/tools")
async def list_all_tools(runtime: RuntimeOf) -> Json:
    """Every tool of this server, and what is wrong with those that could not be loaded."""
    return {"tools": _listed(runtime, _owner(runtime, working_directory="/")), "problems": list(runtime.tool_problems)}


@owner_router.post("/tools/{category}/{tool}")
async def call_by_hand(
    request: Request, category: Category, tool: str, runtime: RuntimeOf, working_directory: str = "/"
) -> Response:
    """One tool call of the owner's own, with a record like any other."""
    asked = await _asked(request, category, tool)
    return await _run(request, asked, _owner(runtime, working_directory=working_directory), runtime)


async def _call(request: Request, tool: str, *, category: Category, live: LiveSession, runtime: RuntimeOf) -> Response:
    return await _run(request, await _asked(request, category, tool), caller_of(live, runtime), runtime)


async def _asked(request: Request, category: Category, tool: str) -> dispatch.Request:
    return wanted(request.headers.get("x-call-id", ""), category, tool, body=await read_body(request))


async def _run(request: Request, asked: dispatch.Request, caller: Caller, runtime: Runtime) -> Response:
    """Run one call. Its work is cancelled when the connection closes."""
    result = await while_connected(request, lambda: runtime.dispatcher.call(caller, asked))
    return shown(asked, result)


def wanted(call_id: str, category: Category, tool: str, *, body: bytes) -> dispatch.Request:
    """What a request asks for; raises `BadRequest`."""
    if not (call_id.isascii() and call_id.replace("_", "").isalnum() and len(call_id) <= 64):
        raise BadRequest("the header X-Call-Id is missing or is no call id")
    return dispatch.Request(call_id, category, tool, _arguments(body))


def shown(asked: dispatch.Request, result: ToolResult) -> Response:
    """The answer as a bridge wants it."""
    answer = {"call_id": asked.call_id, "text": result.text, "structured": result.structured}
    return Response(_ENCODER.encode(answer), media_type="application/json")


def _listed(runtime: Runtime, caller: Caller) -> list[Json]:
    """The tools that this caller has, as a bridge wants to know them."""
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": schema_of(tool),
            "annotations": tool.annotations,
            "category": tool.category,
            "server": None,
            "long_running": runtime.dispatcher.class_of(tool) is ToolClass.LONG_RUNNING,
        }
        for tool in runtime.dispatcher.tools_of(caller)
    ]


def _owner(runtime: Runtime, *, working_directory: str) -> Caller:
    return Caller(OWNER, Path(working_directory), shared(os.environ, home=None), cli_has_limit=False)


def caller_of(live: LiveSession, runtime: Runtime) -> Caller:
    """Who a session's token stands for."""
    turn = live.turns.current
    return Caller(
        session_id=live.id,
        working_directory=live.record.working_directory,
        environment=live.record.shell_environment,
        client_ceiling=live.adapter.client_ceiling,
        cli_has_limit=live.adapter.mcp_timeout(runtime.policy.mcp_call) is not None,
        turn_id=turn.id if turn else None,
        turn_aborted=live.status.turn_aborted,
        tools=live.record.tools,
    )


def _arguments(body: bytes) -> dict[str, object]:
    """The arguments object. What could not be written down again as JSON is refused too: NaN, half a surrogate pair."""
    try:
        arguments = loads(body or b"{}")
        if b"\\u" in body:  # nothing else can spell half a pair
            _WHOLE_TEXT.encode(arguments).encode()
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is no JSON: {_plain(error)}") from error
    if not isinstance(arguments, dict):
        raise BadRequest("the body must be the arguments object of the tool")
    return cast("dict[str, object]", arguments)


def _plain(error: Exception) -> str:
    """The error's words, without the characters that are the problem."""
    return str(error).encode("ascii", "backslashreplace").decode()
