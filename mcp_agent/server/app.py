"""The HTTP application: routes by noun, and one shape for every error."""

import logging
import os
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from mcp_agent import __version__
from mcp_agent.disk import disk_trouble
from mcp_agent.errors import (
    AccessDenied,
    BadArguments,
    BadDeadline,
    BadRequest,
    CallNotTaken,
    CommandRefused,
    ExecutionsUnusable,
    IdempotencyKeyReused,
    Internal,
    LedgerUnusable,
    McpAgentError,
    ServerStopped,
    ServerStopping,
    StoreUnusable,
    UnknownAgent,
    UnknownCall,
    UnknownExecution,
    UnknownMessage,
    UnknownSession,
    UnknownTool,
    UsageError,
)
from mcp_agent.server import (
    call_routes,
    ending_routes,
    event_routes,
    execution_routes,
    input_routes,
    picture_routes,
    session_routes,
    tool_routes,
    turn_routes,
)
from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.server.connection import ClientGone, read_body
from mcp_agent.server.ending_unadopted import end_unadopted
from mcp_agent.server.runtime import Runtime
from mcp_agent.server.session_names import SessionNames
from mcp_agent.server.starting import PACKAGE
from mcp_agent.tools import shell_evidence
from mcp_agent.tools.shell import GRACE

log = logging.getLogger(__name__)

server_routes = APIRouter(dependencies=[Depends(owner)])

Json = dict[str, object]

_CLIENT_CLOSED_REQUEST = 499


def create_app(runtime: Runtime) -> FastAPI:
    app = FastAPI(title="mcp-agent", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.runtime = runtime
    app.include_router(tool_routes.router)
    app.include_router(server_routes)
    app.include_router(session_routes.router)
    app.include_router(picture_routes.router)
    app.include_router(input_routes.router)
    app.include_router(turn_routes.router)
    app.include_router(event_routes.router)
    app.include_router(ending_routes.router)
    app.include_router(tool_routes.owner_router)
    app.include_router(call_routes.router)
    app.include_router(execution_routes.router)
    app.add_middleware(SessionNames, runtime=runtime)
    app.add_exception_handler(McpAgentError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(ClientGone, _gone)
    app.add_exception_handler(Exception, _unknown)
    return app


@server_routes.get("/server")
async def show_server(runtime: RuntimeOf) -> Json:
    return {
        "pid": os.getpid(),
        "version": __version__,
        "package": str(PACKAGE),
        "home": str(runtime.state.root),
        "socket": str(runtime.state.server_socket),
        "sessions": sum(session.status.end is None for session in runtime.sessions.all()),
        "running_calls": runtime.running.count,
        "warnings": [*runtime.policy.warnings, *runtime.tool_problems, *runtime.executions.problems],
        "stopping": runtime.stop_requested.is_set(),
        "settings": dict(runtime.settings),
    }


@server_routes.post("/server/stop")
async def stop_server(request: Request, runtime: RuntimeOf, *, now: bool = False) -> Json:
    """`now` ends all sessions and calls first; without it sessions live on in tmux and are found again."""
    # All of the request first: a client that is still sending does not hear the answer of a server that closes.
    await read_body(request)
    sessions = [session for session in runtime.sessions.all() if session.status.end is None]
    ended, executions, alive = 0, 0, list[str]()
    if now:
        executions = await runtime.executions.cancel_unfinished()
        await runtime.sessions.stop_all()
        ended, alive = await end_unadopted(runtime.sessions, runtime.state)
        await runtime.running.cancel_all()
        await shell_evidence.end_all(runtime.state.calls, grace=GRACE)
    runtime.stop_requested.set()
    stopped = {"stopped_sessions": len(sessions) + ended if now else 0, "cancelled_executions": executions}
    return {**stopped, **({"still_alive": alive} if alive else {})}


@server_routes.get("/openapi.json")
async def openapi(request: Request) -> Json:
    """The API's own description. Like every route of the owner, it asks for the owner's token."""
    app = request.app
    assert isinstance(app, FastAPI)
    return app.openapi()


async def _known(_: Request, error: Exception) -> Response:
    assert isinstance(error, McpAgentError)
    return refusal(error)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = "; ".join(f"{'.'.join(map(str, item['loc'][1:]))}: {item['msg']}" for item in error.errors())
    return _error(422, BadRequest(f"the request is not valid: {problems}"))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, BadRequest(f"{request.method} {request.url.path}: {error.detail}"))


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=_CLIENT_CLOSED_REQUEST)


async def _unknown(request: Request, error: Exception) -> Response:
    log.error("%s %s", request.method, request.url.path, exc_info=error)
    state = request.app.state.runtime.state
    return _error(500, disk_trouble(error, state.root) or Internal(state.log))


def _status(error: McpAgentError) -> int:
    match error:
        case AccessDenied():
            return 403
        case UnknownSession() | UnknownTool() | UnknownCall() | UnknownMessage() | UnknownExecution():
            return 404
        case UsageError() | BadArguments() | CommandRefused() | UnknownAgent() | BadDeadline() | IdempotencyKeyReused():
            return 400
        case LedgerUnusable() | StoreUnusable() | ExecutionsUnusable():
            return 503
        case ServerStopped() | ServerStopping() | CallNotTaken():
            return 503
        case _:
            return 409


def refusal(error: McpAgentError) -> JSONResponse:
    """What a client is told of an error."""
    return _error(_status(error), error)


def _error(status: int, error: McpAgentError) -> JSONResponse:
    fields: dict[str, Any] = {
        name: value for name, value in vars(error).items() if isinstance(value, str | int | float | list | tuple)
    }
    told = {**fields, "kind": error.kind, "message": str(error), "exit_code": error.exit_code}
    return JSONResponse({"error": told}, status_code=status)
