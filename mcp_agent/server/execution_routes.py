"""The owner's routes about executions: starting, looking up, waiting, cancelling.

    POST /executions                                   StartExecution → Execution, at once and durably
    GET  /executions?unfinished_only&state&parent&limit → {"executions": [Execution, …]}, oldest first
    GET  /executions/{id}?wait_seconds=S               → Execution: as it is now, or once it has ended within the wait;
                                                         with needs_person=B also once that is not so any more
    POST /executions/{id}/cancel?cascade=false         → Execution & {"cancelled": bool, "children": int}
    GET  /executions/{id}/logs                         → {"execution", "session", "screen", "turns", "calls"}
    GET  /agents                                       → {"agents": [{name, provider, model, …}]}, the configured ones
    POST /sessions/{id}/stop?cascade=false             also answers "executions": how many went on, or were cancelled

An Execution is an object with `execution_id, agent, provider, model, task, instructions, working_directory, state,
detail, needs_person, parent_session, parent_execution, depth, session_id, turn_id, message_id, created_at, started_at,
ended_at, deadline_at, idempotency_key, final_text, usage, ended_by, owner, reason, cause, delivery`: `task` is what its
caller said, and `instructions` that with its agent's before it; `detail` says what one that is not over waits for, and
`needs_person` whether that is somebody's answer; `reason`, `ended_by` (the layer) and `owner` say why it ended, `cause`
what a provider refused (`login, limited, other`), and `delivery` what became of telling its parent (`none, pending,
claimed, sent, told, refused`). Errors: `UnknownExecution` (404), `UnknownAgent`,
`IdempotencyKeyReused`, `BadDeadline` (400), `TooDeep`, `QueueFull` (409), `ExecutionsUnusable` (503).
"""

from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from mcp_agent.errors import TmuxError, TmuxUnavailable, UsageError
from mcp_agent.executions.asking import Caller, Wish
from mcp_agent.executions.records import UNFINISHED, ExecutionState
from mcp_agent.executions.views import execution_view
from mcp_agent.executions.waiting import ended_or_changed
from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.server.call_routes import calls_of
from mcp_agent.server.connection import while_connected
from mcp_agent.server.session_names import session_id_of
from mcp_agent.server.session_routes import StartSession, Word, options_of
from mcp_agent.server.turn_routes import WaitSeconds
from mcp_agent.server.views import session_view, turn_view
from mcp_agent.sessions.live import LiveSession

router = APIRouter(dependencies=[Depends(owner)])

Json = dict[str, object]

LISTED = 1000
Limit = Annotated[int, Query(ge=1, le=100_000)]
Seconds = Annotated[float, Field(gt=0, le=timedelta(days=365).total_seconds(), allow_inf_nan=False)]


class StartExecution(StartSession):
    """What `POST /executions` takes: what its session is started with, and what it is to do.

    Either `agent`, the name of a configured one, or `provider`.
    """

    provider: Word = ""
    in_directory: Path | None = None
    """Where it works, before its agent's own directory and before `working_directory`, which is where its caller is."""
    agent: Word | None = None
    instructions: Annotated[str, Field(min_length=1)]
    deadline_seconds: Seconds | None = None
    deadline_at: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """A wall-clock epoch."""
    idempotency_key: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    parent: Word | None = None
    """A session that is told of the result, by id or name; None: nobody is."""


@router.post("/executions")
async def start_execution(body: StartExecution, runtime: RuntimeOf) -> Json:
    """Answers as soon as the execution is on disk; nothing of it has begun then."""
    if bool(body.agent) == bool(body.provider):
        raise UsageError("name either a configured agent or a provider")
    if body.deadline_seconds is not None and body.deadline_at is not None:
        raise UsageError("deadline_seconds and deadline_at are two words for one thing; give one of them")
    for what in ("tied_to", "resume", "name"):
        if getattr(body, what) is not None:
            raise UsageError(f"{what}: an execution's session cannot have it")
    parent = runtime.sessions.get(await session_id_of(runtime, body.parent)).id if body.parent else None
    place = body.in_directory or body.working_directory
    caller = Caller(options_of(body.model_copy(update={"working_directory": place}), runtime), session_id=parent)
    wish = Wish(
        instructions=body.instructions,
        agent=body.agent,
        provider=body.provider or None,
        model=body.model,
        working_directory=body.in_directory,
        permission_mode=body.permission_mode,
        tools=body.tools,
        deadline=None if body.deadline_seconds is None else timedelta(seconds=body.deadline_seconds),
        deadline_at=body.deadline_at,
        idempotency_key=body.idempotency_key,
    )
    return execution_view(await runtime.executions.start(wish, caller), runtime.executions)


@router.get("/executions")
async def list_executions(
    runtime: RuntimeOf,
    parent: str | None = None,
    state: ExecutionState | None = None,
    limit: Limit = LISTED,
    *,
    unfinished_only: bool = False,
) -> Json:
    """Oldest first, the newest `limit` of them. Raises `UnknownSession` for a parent that nobody knows."""
    parent = parent and await session_id_of(runtime, parent)
    states = frozenset({state}) if state else UNFINISHED if unfinished_only else None
    executions = runtime.executions
    found = await anyio.to_thread.run_sync(lambda: executions.select(parent=parent, states=states, limit=limit))
    if parent and not found:
        with suppress(TmuxUnavailable):
            runtime.sessions.get(parent)
    return {"executions": [execution_view(record, executions) for record in found], "trouble": executions.trouble}


@router.get("/executions/{execution_id}")
async def show_execution(
    request: Request,
    execution_id: str,
    runtime: RuntimeOf,
    wait_seconds: WaitSeconds = 0,
    *,
    needs_person: bool | None = None,
) -> Json:
    """The execution as it is now, or once it has ended, within the wait.

    `needs_person`, as it was told last, also ends the wait when it is not so any more.
    """
    wait = partial(
        ended_or_changed,
        runtime.executions,
        execution_id,
        limit=timedelta(seconds=wait_seconds),
        needed_person=needs_person,
    )
    record = await while_connected(request, wait, stop=runtime.stop_requested)
    return execution_view(record, runtime.executions)


@router.post("/executions/{execution_id}/cancel")
async def cancel_execution(execution_id: str, runtime: RuntimeOf, *, cascade: bool = False) -> Json:
    """Answers when nothing of it runs. Executions that it started go on, and are counted, unless `cascade`."""
    executions, cancelled = runtime.executions, False
    record = executions.get(execution_id)
    with anyio.CancelScope(shield=True):
        child = executions.children.known(record)
        below = executions.descendants(child.id) if child else []
        cancelled = await executions.cancel(execution_id)
        if cascade:
            await executions.cancel_all(below, by="owner")
    view = execution_view(executions.get(execution_id), executions)
    return {**view, "cancelled": cancelled, "children": len(below)}


@router.get("/executions/{execution_id}/logs")
async def show_logs(execution_id: str, runtime: RuntimeOf) -> Json:
    """What its session did and shows, as far as it is known still."""
    record = runtime.executions.get(execution_id)
    child = runtime.executions.children.known(record)
    return {
        "execution": execution_view(record, runtime.executions),
        "session": session_view(child) if child else None,
        "screen": await _screen(child) if child else None,
        "turns": [turn_view(turn) for turn in child.turns.all] if child else [],
        "calls": await calls_of(runtime, child.id) if child else [],
    }


@router.get("/agents")
async def list_agents(runtime: RuntimeOf) -> Json:
    """The configured agents."""
    return {
        "agents": [
            {
                "name": name,
                **agent.model_dump(mode="json", exclude={"deadline"}),
                "deadline_seconds": _seconds(agent.deadline),
            }
            for name, agent in sorted(runtime.config.agents.items())
        ]
    }


async def _screen(session: LiveSession) -> list[str]:
    if session.over is None:
        with suppress(TmuxError):
            await session.look()
    return list(session.screen.lines)


def _seconds(limit: timedelta | None) -> float | None:
    return None if limit is None else limit.total_seconds()
