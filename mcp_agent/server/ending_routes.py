"""The owner's routes about the end of sessions: going on with one that is over, and stopping all."""

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from mcp_agent.executions.records import ExecutionState
from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.server.views import session_view, stopped_view
from mcp_agent.sessions.starting.kept_secrets import Secrets

router = APIRouter(dependencies=[Depends(owner)])

Json = dict[str, object]


class ResumeSession(BaseModel):
    """What a session that was stopped needs again: nothing secret of it was kept."""

    model_config = ConfigDict(extra="forbid")

    environment: dict[str, str] = Field(default_factory=dict, repr=False)
    api_key: SecretStr | None = None


@router.post("/sessions/{session_id}/resume")
async def resume_session(session_id: str, body: ResumeSession, runtime: RuntimeOf) -> Json:
    """Answers when the session shows its prompt again, or is blocked. It goes on when the client leaves."""
    given = Secrets(body.environment, body.api_key.get_secret_value() if body.api_key else None)
    return session_view(await runtime.sessions.resume(session_id, given=given))


@router.post("/server/sessions/stop")
async def stop_sessions(runtime: RuntimeOf, *, cascade: bool = False) -> Json:
    """Stop every session that lives, or is lost or exited. Answers when nothing of them is left.

    Executions end with their sessions; those that have none yet go on, and are counted, unless `cascade`.
    """
    executions, sessions = runtime.executions, runtime.sessions
    cancelled = await executions.cancel_unfinished() if cascade else 0
    stopped = await sessions.stop_all()
    return {
        "sessions": [stopped_view(sessions.get(each), cancelled_calls=calls) for each, calls in stopped.items()],
        "executions": cancelled if cascade else len(executions.select(states=frozenset({ExecutionState.QUEUED}))),
        "executions_cancelled": cascade,
    }
