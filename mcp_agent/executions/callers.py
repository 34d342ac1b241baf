"""What an execution inherits from the session that starts it."""

from mcp_agent.errors import UnknownExecution
from mcp_agent.executions.asking import Caller
from mcp_agent.executions.store import ExecutionStore
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.starting.kept_secrets import Secrets, options_again
from mcp_agent.state import StateDirectory


def caller_of(store: ExecutionStore, state: StateDirectory, session: LiveSession, *, call_id: str | None) -> Caller:
    """Who this session is as a caller: one deeper than the execution that it is the child of.

    Raises `NotResumable` when what it was started with is not kept any more.
    """
    record = session.record
    return Caller(
        options=options_again(state, record, given=Secrets()),
        session_id=record.id,
        call_id=call_id,
        parent_execution=record.execution,
        depth=_depth(store, record.execution) + 1,
    )


def _depth(store: ExecutionStore, execution_id: str | None) -> int:
    if execution_id is None:
        return 0
    try:
        return store.get(execution_id).depth
    except UnknownExecution:
        return 0
