"""What the API and the tools say about executions."""

from dataclasses import asdict

from mcp_agent.executions.records import ExecutionRecord, ExecutionState
from mcp_agent.executions.service import Executions
from mcp_agent.executions.step import state_told
from mcp_agent.sessions.signals import SessionState

Json = dict[str, object]


def execution_view(record: ExecutionRecord, executions: Executions) -> Json:
    """An execution. `detail` says what one that is not over waits for; `reason` why one that is over ended.

    `task` is what its caller said, `instructions` that and before it what its agent is configured with.
    """
    outcome, child = record.outcome, executions.children.known(record)
    return {
        "execution_id": record.id,
        "agent": record.agent,
        "provider": record.child.provider,
        "model": record.child.model,
        "task": record.task,
        "instructions": record.instructions,
        "working_directory": str(child.record.working_directory if child else record.child.working_directory),
        "state": record.state,
        "detail": None if record.is_finished else detail(record, executions),
        "needs_person": needs_person(record, executions),
        "parent_session": record.parent_session,
        "parent_execution": record.parent_execution,
        "call_id": record.call_id,
        "depth": record.depth,
        "session_id": child.id if child else record.session_id,
        "message_id": record.message_id,
        "turn_id": outcome.turn_id if outcome else None,
        "created_at": record.created_at,
        "started_at": record.started_at,
        "ended_at": record.ended_at,
        "deadline_at": record.deadline_at,
        "idempotency_key": record.idempotency_key,
        "final_text": outcome.final_text if outcome else None,
        "usage": asdict(outcome.usage) if outcome and outcome.usage else None,
        "ended_by": outcome.ended_by if outcome else None,
        "owner": outcome.owner if outcome else None,
        "reason": outcome.reason if outcome else None,
        "cause": outcome.cause if outcome else None,
        "delivery": record.delivery,
    }


def needs_person(record: ExecutionRecord, executions: Executions) -> bool:
    """Whether its session waits for somebody's answer. While it comes up some dialogs are answered for people."""
    child = executions.children.known(record)
    if child is None or child.id != record.session_id or record.is_finished:
        return False
    return child.state in {SessionState.BLOCKED, SessionState.WAITING}


def detail(record: ExecutionRecord, executions: Executions) -> str:
    """What an execution that is not over waits for."""
    child, trouble = executions.children.known(record), executions.driving.trouble
    if record.state is ExecutionState.CANCELLING:
        return "what it runs is being ended"
    if child is not None and child.state not in {SessionState.READY, SessionState.BUSY}:
        return f"its session {child.id} is {state_told(child)}"
    if child is not None:
        return f"its session {child.id} works"
    if trouble is not None:
        return trouble
    return "its turn to begin" if record.state is ExecutionState.QUEUED else "its session is being started"
