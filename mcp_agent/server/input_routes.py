"""The owner's routes for what goes into a session."""

import time
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from mcp_agent.errors import BadRequest, StoreUnusable
from mcp_agent.server.auth import RuntimeOf, owner
from mcp_agent.server.connection import while_connected
from mcp_agent.server.runtime import Runtime
from mcp_agent.server.turn_routes import WaitSeconds
from mcp_agent.server.views import message_view
from mcp_agent.sessions.input.commanding import command
from mcp_agent.sessions.input.sending import SendMode

router = APIRouter(prefix="/sessions/{session_id}", dependencies=[Depends(owner)])

Json = dict[str, object]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SendPrompt(_Body):
    text: str
    mode: SendMode = SendMode.NOW
    clear_draft: bool = False
    """Discard what stands in the composer first; a message that waits never does."""
    message_id: Annotated[str | None, Field(pattern=r"^m-[0-9a-f]{10}$")] = None
    """Chosen by a client that wants to ask for the message if it loses the answer; never used before."""
    deadline_at: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None
    """A wall-clock epoch, kept by the server: then a prompt that waits is withdrawn, and its turn interrupted."""


class RunCommand(_Body):
    text: str


@router.post("/send")
async def send_prompt(session_id: str, body: SendPrompt, runtime: RuntimeOf) -> Json:
    """A transaction: it goes on when the client leaves, so that no half-placed prompt stays behind.

    With the mode `queue` the answer comes as soon as the message is on disk; with `turn` too when something is before
    it.
    """
    with anyio.CancelScope(shield=True):
        if body.message_id is not None:
            await _check_unused(runtime, body.message_id)
        if body.deadline_at is not None and body.deadline_at <= time.time():
            raise BadRequest("deadline_at has passed; nothing was sent")
        sent = await runtime.sessions.send(
            session_id,
            body.text,
            mode=body.mode,
            clear_draft=body.clear_draft,
            message_id=body.message_id,
            deadline_at=body.deadline_at,
        )
    return {**asdict(sent), "reason": sent.reason or None}


async def _check_unused(runtime: Runtime, message_id: str) -> None:
    """A store that cannot be read stops no send."""
    with suppress(StoreUnusable):
        if await anyio.to_thread.run_sync(runtime.sessions.store.message, message_id) is not None:
            raise BadRequest(f"message id {message_id} was used before; nothing was sent")


@router.post("/command")
async def run_command(session_id: str, body: RunCommand, runtime: RuntimeOf) -> Json:
    """One of the CLI's own commands, run once; a transaction as well."""
    with anyio.CancelScope(shield=True):
        outcome = await command(await runtime.sessions.for_input(session_id), body.text)
    return {"outcome": outcome}


@router.get("/messages")
async def list_messages(session_id: str, runtime: RuntimeOf) -> Json:
    """Everything that was sent or queued, oldest first, as long as it is kept."""
    session, queue = runtime.sessions.get(session_id), runtime.sessions.queue
    obstacle, messages = queue.obstacle(session), await queue.messages.all(session.id)
    return {"session_id": session.id, "messages": [message_view(one, obstacle=obstacle) for one in messages]}


@router.get("/messages/{message_id}")
async def wait_for_message(
    request: Request, session_id: str, message_id: str, runtime: RuntimeOf, wait_seconds: WaitSeconds = 0
) -> Json:
    """The message as it is now, or as soon as it waits no longer; the wait ends with the session, too."""
    session, queue = runtime.sessions.get(session_id), runtime.sessions.queue
    limit = timedelta(seconds=wait_seconds)
    message = await while_connected(
        request, lambda: queue.decided(session, message_id, limit=limit), stop=runtime.stop_requested
    )
    return {**message_view(message, obstacle=queue.obstacle(session)), "session_over": session.over}


@router.delete("/messages/{message_id}")
async def withdraw_message(session_id: str, message_id: str, runtime: RuntimeOf) -> Json:
    """Take back a message that waits still."""
    await runtime.sessions.queue.withdraw(runtime.sessions.get(session_id), message_id)
    return {"id": message_id, "state": "withdrawn"}


@router.post("/interrupt")
async def interrupt_session(session_id: str, runtime: RuntimeOf) -> Json:
    return {"interrupted": await runtime.sessions.interrupt(session_id)}


@router.post("/turns/{turn_id}/deadline")
async def end_turn_at_deadline(session_id: str, turn_id: str, runtime: RuntimeOf) -> Json:
    """The caller's limit for this turn has passed: interrupt it, and stop a session that does not come back from it."""
    interrupted, kept = await runtime.sessions.end_turn_at_deadline(session_id, turn_id)
    return {"interrupted": interrupted, "kept": kept}
