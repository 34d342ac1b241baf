"""The owner's routes about tool calls: looking up, waiting, cancelling, deciding, forgetting."""

from datetime import timedelta
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from mcp_agent.calls.ledger_events import Decider, Happened, Resolved
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.calls.views import call_facts
from mcp_agent.calls.waiting import until_settled
from mcp_agent.errors import UsageError
from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.server.connection import while_connected
from mcp_agent.server.runtime import Runtime
from mcp_agent.server.session_names import session_id_of
from mcp_agent.tools.call_outputs import last_output_at, streams
from mcp_agent.tools.reconciling import prune

router = APIRouter(dependencies=[Depends(owner)])

Json = dict[str, object]

LISTED = 1000
_OBSERVED = {
    Happened.SUCCEEDED: "succeeded",
    Happened.FAILED: "failed",
    Happened.CANCELLED: "was cancelled",
    Happened.NOT_STARTED: "was not started",
}
Limit = Annotated[int, Query(ge=1, le=100_000)]
Wait = Annotated[float, Query(ge=0, le=timedelta(days=7).total_seconds(), allow_inf_nan=False)]


class Resolution(BaseModel):
    """What somebody found out about a call."""

    model_config = ConfigDict(extra="forbid")

    happened: bool
    note: Annotated[str, Field(max_length=2000)] = ""


@router.get("/calls")
async def list_calls(
    runtime: RuntimeOf, session: str | None = None, *, unknown_only: bool = False, limit: Limit = LISTED
) -> Json:
    """Oldest first, the newest `limit` of them."""
    session = session and await session_id_of(runtime, session)
    return {"calls": await calls_of(runtime, session, unknown_only=unknown_only, limit=limit)}


@router.get("/calls/{call_id}")
async def show_call(request: Request, call_id: str, runtime: RuntimeOf, wait_seconds: Wait = 0) -> Json:
    """The call as it is now, or once nothing more is to be waited for, within the wait."""
    limit = timedelta(seconds=wait_seconds)
    call = await while_connected(request, lambda: until_settled(runtime.ledger, runtime.running, call_id, limit=limit))
    return _view(runtime, call)


@router.delete("/calls/{call_id}")
async def cancel_call(call_id: str, runtime: RuntimeOf) -> Json:
    """Cancel the call and answer when its clean-up is over, or takes too long. What it did before that stays done."""
    runtime.ledger.get(call_id)
    cancelled = await runtime.running.cancel(call_id)
    still_runs = runtime.running.runs(call_id)
    return {"cancelled": cancelled, "still_runs": still_runs, **_view(runtime, runtime.ledger.get(call_id))}


@router.post("/calls/{call_id}/resolve")
async def resolve_call(call_id: str, body: Resolution, runtime: RuntimeOf) -> Json:
    """Say whether a call of unknown outcome took place. It is added to the record, and rewrites nothing."""
    call = runtime.ledger.get(call_id)
    if call.is_open or runtime.running.runs(call_id):
        raise UsageError(f"call {call_id} still runs; wait for it, or cancel it")
    if observed := _OBSERVED.get(call.happened or Happened.UNKNOWN):
        raise UsageError(f"what became of call {call_id} was observed: it {observed}; nothing was changed")
    if call.resolution is not None and call.resolution.happened is not body.happened:
        said = "happened" if call.resolution.happened else "did not happen"
        raise UsageError(f"the {call.resolution.by} decided before that call {call_id} {said}; nothing was changed")
    resolved = Resolved(body.happened, body.note, Decider.OWNER)
    await anyio.to_thread.run_sync(runtime.ledger.append, call_id, resolved)
    return _view(runtime, runtime.ledger.get(call_id))


@router.post("/calls/prune")
async def prune_calls(runtime: RuntimeOf, days: Annotated[float, Query(ge=0, le=36500, allow_inf_nan=False)]) -> Json:
    """Forget calls that ended longer ago, with their outputs."""
    older_than = timedelta(days=days)
    forgotten = await anyio.to_thread.run_sync(
        lambda: prune(runtime.ledger, runtime.state, older_than=older_than, runs=runtime.running.runs)
    )
    return {"forgotten": forgotten}


async def calls_of(
    runtime: Runtime, session: str | None, *, unknown_only: bool = False, limit: int = LISTED
) -> list[Json]:
    def found() -> list[Json]:
        calls = runtime.ledger.list(session=session, unknown_only=unknown_only, limit=limit)
        return [_facts(runtime, call) for call in reversed(calls)]

    return await anyio.to_thread.run_sync(found)


def _facts(runtime: Runtime, call: CallState) -> Json:
    return call_facts(call, last_output_at=last_output_at(runtime.state.call(call.call_id)))


def _view(runtime: Runtime, call: CallState) -> Json:
    directory = runtime.state.call(call.call_id)
    return {**_facts(runtime, call), "output": streams(directory), "output_directory": str(directory)}
