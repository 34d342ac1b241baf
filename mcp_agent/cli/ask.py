"""`mcp-agent ask`: one session, one prompt, its final answer, nothing left."""

import os
from pathlib import Path
from typing import Annotated

import typer

from mcp_agent.cli.context import client, client_for_session, print_json, prompt_text, start_body
from mcp_agent.cli.options import (
    AllowTool,
    AsJson,
    Directory,
    Model,
    ModelEndpoint,
    ModelKeyVariable,
    PermissionMode,
    Provider,
    Trust,
)
from mcp_agent.errors import (
    Limited,
    LoginInvalid,
    McpAgentError,
    ServerUnreachable,
    SessionBlocked,
    TurnFailed,
    Unconfirmed,
)
from mcp_agent.processes import identify
from mcp_agent.server.client import Client, Json


def ask(
    prompt: Annotated[str, typer.Argument(help="The prompt; - reads it from standard input.")],
    *,
    provider: Provider,
    directory: Directory = Path(),
    allow_tool: AllowTool = None,
    trust: Trust = False,
    model: Model = None,
    permission_mode: PermissionMode = None,
    model_endpoint: ModelEndpoint = None,
    model_key_variable: ModelKeyVariable = None,
    as_json: AsJson = False,
) -> None:
    """Start a session, send one prompt, print the final answer, stop the session.

    The session ends with this command, however the command ends.
    """
    body = start_body(
        provider=provider,
        directory=directory,
        allow_tools=allow_tool or [],
        trust=trust,
        model=model,
        permission_mode=permission_mode,
        model_endpoint=model_endpoint,
        model_key_variable=model_key_variable,
    )
    text = prompt_text(prompt)
    me = identify(os.getpid())
    body["tied_to"] = me.to_json() if me else None
    with client_for_session() as server:
        session = server.post("/sessions", body, waits=True)
        try:
            turn = _one_turn(server, session, text)
        finally:
            _stop(server, str(session["id"]))
    if as_json:
        print_json({"session": session["id"], "provider": provider, "turn": turn})
    else:
        typer.echo(str(turn["final_text"]))


def _one_turn(server: Client, session: Json, text: str) -> Json:
    """The ended turn. Raises when it cannot be begun, or did not complete."""
    session_id = str(session["id"])
    if session["state"] == "blocked":
        raise SessionBlocked(session_id, str(session["detail"]), str(session["advice"]), "")
    sent = server.post(f"/sessions/{session_id}/send", {"text": text}, waits=True)
    if sent["turn_id"] is None:
        raise Unconfirmed(session_id)
    turn = server.wait(f"/sessions/{session_id}/turns/{sent['turn_id']}?wait_seconds=31536000")
    if turn["outcome"] == "completed":
        return turn
    raise _failure(session_id, turn)


def _failure(session_id: str, turn: Json) -> McpAgentError:
    error = str(turn["error"] or "")
    match turn["outcome"], turn["cause"]:
        case None, _:
            detail = f" ({turn['session_detail']})" if turn["session_detail"] else ""
            return TurnFailed(session_id, f"the session is over: {turn['session_state']}{detail}")
        case "failed", "login":
            return LoginInvalid(f"the provider refused the login: {error}")
        case "failed", "limited":
            return Limited(f"the provider does not answer for now: {error}")
        case outcome, _:
            return TurnFailed(session_id, f"{outcome} {error}".strip())


def _stop(server: Client, session_id: str) -> None:
    """Stop the session. A server that died meanwhile is started again for it.

    A second signal meanwhile leaves the rest to the server, which stops what its client left behind.
    """
    path = f"/sessions/{session_id}/stop"
    try:
        server.post(path, waits=True)
    except ServerUnreachable:
        with client() as successor:
            successor.post(path, waits=True)
