"""The owner's routes for what goes into a session."""

import anyio
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict

from mcp_agent.server.auth import RuntimeOf, owner

router = APIRouter(prefix="/sessions/{session_id}", dependencies=[Depends(owner)])

Json = dict[str, object]


class SendPrompt(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str
    clear_draft: bool = False
    """Discard what stands in the composer first."""


@router.post("/send")
async def send_prompt(session_id: str, body: SendPrompt, runtime: RuntimeOf) -> Json:
    """A transaction: it goes on when the client leaves, so that no half-placed prompt stays behind."""
    with anyio.CancelScope(shield=True):
        sent = await runtime.sessions.send(session_id, body.text, clear_draft=body.clear_draft)
    return {"outcome": sent.outcome, "turn_id": sent.turn_id}


@router.post("/interrupt")
async def interrupt_session(session_id: str, runtime: RuntimeOf) -> Json:
    return {"interrupted": await runtime.sessions.interrupt(session_id)}
