"""One prompt on its way to the server: when its answer is lost, the next server is asked what became of it."""

from collections.abc import Mapping

from mcp_agent.cli.context import client
from mcp_agent.errors import McpAgentError, SendRefused, ServerUnreachable
from mcp_agent.server.client import Client, Json
from mcp_agent.sessions.input.messages import MessageState, new_message_id

_LOST = "the connection to the server was lost before it answered"


def submit(server: Client, session: str, body: Mapping[str, object]) -> Json:
    """What became of the prompt, as `POST /send` answers; `unconfirmed` when nobody can tell.

    Raises what the server says, and `ServerUnreachable` only when the prompt certainly did not reach it.
    """
    message_id = new_message_id()
    try:
        return server.post(f"/sessions/{session}/send", {**body, "message_id": message_id}, waits=True)
    except ServerUnreachable as error:
        if not error.asked:
            raise
    return _sent_as(session, message_id, _recorded(session, message_id))


def _recorded(session: str, message_id: str) -> Json | None:
    """The message as the next server knows it, once that has looked; None when it does not tell."""
    try:
        with client() as successor:
            return successor.wait(f"/sessions/{session}/messages/{message_id}")
    except McpAgentError:
        return None


def _sent_as(session: str, message_id: str, message: Json | None) -> Json:
    lost: Json = {"outcome": "unconfirmed", "turn_id": None, "reason": _LOST, "message_id": message_id}
    if message is None:
        return lost
    match message["state"]:
        case MessageState.REFUSED | MessageState.WITHDRAWN:
            raise SendRefused(session, str(message["reason"] or f"message {message_id} was {message['state']}"))
        case MessageState.SENDING:
            return lost
        case state:
            return {**lost, "outcome": state, "turn_id": message["turn_id"], "reason": message["reason"]}
