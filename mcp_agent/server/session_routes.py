"""The owner's routes about sessions as a whole."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import anyio
from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from mcp_agent.adapter import ModelEndpoint
from mcp_agent.errors import UsageError
from mcp_agent.processes import ProcessIdentity, is_alive
from mcp_agent.server.attached import attached_sessions
from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.server.call_routes import calls_of
from mcp_agent.server.connection import while_connected
from mcp_agent.server.runtime import Runtime
from mcp_agent.server.views import session_view, stopped_view, turn_view
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import SessionOptions, load_records, unreadable_sessions
from mcp_agent.sessions.record_views import recorded_view, unreadable_view
from mcp_agent.sessions.retention.clock import parse_wish
from mcp_agent.sessions.signals import SessionState

router = APIRouter(dependencies=[Depends(owner)])

Json = dict[str, object]


Columns = Annotated[int, Field(strict=True, ge=40, le=1000)]
Rows = Annotated[int, Field(strict=True, ge=10, le=1000)]
Word = Annotated[str, Field(max_length=10_000)]
"""A name of something. With a bound, pydantic also refuses half a surrogate pair, which no answer could repeat."""


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Endpoint(_Body):
    base_url: str
    api_key: SecretStr


class StartSession(_Body):
    """What `POST /sessions` takes; see `SessionOptions`."""

    provider: Word
    working_directory: Path
    environment: dict[str, str] = Field(default_factory=dict, repr=False)
    named_environment: dict[str, str] = Field(default_factory=dict, repr=False)
    """Variables that somebody named for this session: the CLI and its shell commands see them too."""
    name: Word | None = None
    home: Path | None = None
    allow_tools: frozenset[Word] = frozenset()
    tools: frozenset[Word] | None = None
    provider_shell: bool = True
    trust: bool = False
    permission_mode: Word | None = None
    model: Word | None = None
    endpoint: Endpoint | None = None
    tied_to: dict[str, object] | None = None
    resume: str | None = None
    idle_retention: str | None = None
    """A duration, or `off`."""
    """The provider's own id of a conversation to go on with."""
    columns: Columns | None = None
    rows: Rows | None = None


@router.post("/sessions")
async def start_session(request: Request, body: StartSession, runtime: RuntimeOf) -> Json:
    """Answers when the session shows its prompt, or is blocked. Closing the connection takes the start back."""
    options = options_of(body, runtime)
    session = await while_connected(request, lambda: runtime.sessions.start(options), stop=runtime.stop_requested)
    return session_view(session)


@router.get("/sessions")
async def list_sessions(runtime: RuntimeOf, *, on_record: bool = False) -> Json:
    """All sessions; those that tmux has not told about yet after a restart are `unknown`.

    `on_record` adds those that were stopped before this server started.
    """
    attached = await attached_sessions(runtime.sessions.all())
    known = [session_view(session, attached=session.id in attached) for session in runtime.sessions.all()]
    recorded = runtime.sessions.unadopted
    if on_record:
        ours = {record.id for record in runtime.sessions.records}
        every = await anyio.to_thread.run_sync(load_records, runtime.state)
        recorded = [record for record in every if record.stopped and record.id not in ours] + recorded
    told = [recorded_view(record) for record in recorded] + known
    if on_record:
        unreadable = await anyio.to_thread.run_sync(unreadable_sessions, runtime.state)
        told += [unreadable_view(each) for each in unreadable if each not in ours]
    return {"sessions": told}


@router.get("/sessions/{session_id}")
async def show_session(session_id: str, runtime: RuntimeOf) -> Json:
    session = runtime.sessions.get(session_id)
    attached = await attached_sessions([session])
    return {
        **session_view(session, attached=session.id in attached),
        "attach": _attach_command(session, runtime),
        "screen": list(session.screen.lines),
        "turns": [turn_view(turn) for turn in session.turns.all],
        "calls": await calls_of(runtime, session.id),
    }


@router.get("/sessions/{session_id}/screen")
async def show_screen(session_id: str, runtime: RuntimeOf) -> Json:
    """What the CLI shows now; of a session that is over, what it was last seen to show."""
    session = runtime.sessions.get(session_id)
    if session.over is None:
        await session.look()
    screen = session.screen
    return {"id": session.id, "state": session.state, "title": screen.title, "lines": list(screen.lines)}


@router.post("/sessions/{session_id}/stop")
async def stop_session(session_id: str, runtime: RuntimeOf, *, cascade: bool = False) -> Json:
    """Answers when nothing of the session is left. The executions that it started go on, unless `cascade`."""
    session = runtime.sessions.get(session_id)
    already = session.state is SessionState.STOPPED and not runtime.sessions.is_closing(session.id)
    put_away = already and session.record.pane is None
    cancelled = 0 if put_away else await runtime.sessions.stop(session.id)
    executions = await runtime.executions.end_with_parent(session.id, cascade=cascade)
    return {
        **stopped_view(session, cancelled_calls=cancelled),
        "already_stopped": already,
        "executions": executions,
        "executions_cancelled": cascade,
    }


def _attach_command(session: LiveSession, runtime: Runtime) -> str | None:
    """What a person types to see the CLI itself; None when its pane is gone."""
    if session.status.end is not None:
        return None
    return f"tmux -u -S {shlex.quote(str(runtime.state.tmux_socket))} attach -t '{session.pane.tmux_session_id}'"


def options_of(body: StartSession, runtime: Runtime) -> SessionOptions:
    """What a session is started with. Raises `UsageError`."""
    if unknown := sorted((body.allow_tools | (body.tools or frozenset())) - runtime.dispatcher.tools.keys()):
        known = ", ".join(sorted(runtime.dispatcher.tools)) or "none"
        raise UsageError(f"no tool {', '.join(unknown)}; this server has: {known}")
    configured = runtime.config.sessions
    working_directory = body.working_directory
    trusted = body.trust or working_directory in configured.trusted_directories
    return SessionOptions(
        provider=body.provider,
        working_directory=working_directory,
        environment=body.environment | body.named_environment,
        named_variables=frozenset(body.named_environment),
        name=body.name,
        size=_size(body, runtime),
        home=body.home,
        allow_tools=body.allow_tools | frozenset(configured.allow_tools) | _harmless(runtime),
        tools=body.tools,
        provider_shell=body.provider_shell,
        trust=trusted,
        permission_mode=body.permission_mode,
        model=body.model,
        endpoint=_endpoint(body.endpoint),
        tied_to=_identity(body.tied_to),
        resume=body.resume,
        idle_retention=None if body.idle_retention is None else parse_wish(body.idle_retention),
    )


def _size(body: StartSession, runtime: Runtime) -> tuple[int, int] | None:
    if body.columns is None and body.rows is None:
        return None
    configured = runtime.config.sessions
    return body.columns or configured.columns, body.rows or configured.rows


def _harmless(runtime: Runtime) -> frozenset[str]:
    """Our own read-only tools: whoever is told to look a call up must not wait for a person's permission."""
    tools = runtime.dispatcher.tools.values()
    return frozenset(tool.name for tool in tools if tool.category == "virtual" and tool.read_only)


def _endpoint(endpoint: Endpoint | None) -> ModelEndpoint | None:
    if endpoint is None:
        return None
    parts = urlsplit(endpoint.base_url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
        raise UsageError(f"model endpoint {endpoint.base_url!r}: must be scheme://host:port, without a path")
    return ModelEndpoint(endpoint.base_url.rstrip("/"), endpoint.api_key.get_secret_value())


def _identity(record: Mapping[str, object] | None) -> ProcessIdentity | None:
    if record is None:
        return None
    try:
        identity = ProcessIdentity.from_json(record)
    except ValueError as error:
        raise UsageError(f"tied_to: {error}") from error
    if not is_alive(identity):
        raise UsageError(f"tied_to: no such process lives: {record}")
    return identity
