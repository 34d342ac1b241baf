"""`mcp-agent ask`: one session, one prompt, its final answer, nothing left."""

import os
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from mcp_agent.cli.context import client, client_for_session, print_json, prompt_text, start_body
from mcp_agent.cli.options import (
    AllowTool,
    AsJson,
    Deadline,
    Directory,
    Model,
    ModelEndpoint,
    ModelKeyVariable,
    OnlyTools,
    PermissionMode,
    Provider,
    Trust,
)
from mcp_agent.durations import format_duration, parse_duration
from mcp_agent.errors import (
    Limited,
    LoginInvalid,
    McpAgentError,
    RemoteError,
    ServerUnreachable,
    SessionBlocked,
    TurnDeadlinePassed,
    TurnFailed,
    Unconfirmed,
)
from mcp_agent.processes import identify
from mcp_agent.server.client import Client, Json
from mcp_agent.sessions.signals import ENDED, SessionState

LONGEST_TURN = timedelta(days=365)
WAITS = (
    "the CLI waits for an answer ({what}) and nobody is there to give one; name the tool with --allow-tool, or use"
    " `mcp-agent session start` and attach to it"
)


def ask(
    prompt: Annotated[str, typer.Argument(help="The prompt; - reads it from standard input.")],
    *,
    provider: Provider,
    directory: Directory = Path(),
    allow_tool: AllowTool = None,
    tool: OnlyTools = None,
    trust: Trust = False,
    model: Model = None,
    permission_mode: PermissionMode = None,
    model_endpoint: ModelEndpoint = None,
    model_key_variable: ModelKeyVariable = None,
    deadline: Deadline = None,
    as_json: AsJson = False,
) -> None:
    """Start a session, send one prompt, print the final answer, stop the session.

    The session ends with this command, however the command ends.
    """
    body = start_body(
        provider=provider,
        directory=directory,
        allow_tools=allow_tool or [],
        tools=tool,
        trust=trust,
        model=model,
        permission_mode=permission_mode,
        model_endpoint=model_endpoint,
        model_key_variable=model_key_variable,
    )
    text, limit = prompt_text(prompt), turn_limit(deadline)
    me = identify(os.getpid())
    body["tied_to"] = me.to_json() if me else None
    with client_for_session() as server:
        session = server.post("/sessions", body, waits=True)
        try:
            turn = _one_turn(server, session, text=text, limit=limit)
        finally:
            _stop(server, str(session["id"]))
    if as_json:
        print_json({"session": session["id"], "provider": provider, "turn": turn})
    else:
        typer.echo(str(turn["final_text"]))


def turn_limit(deadline: str | None) -> timedelta | None:
    if deadline is None:
        return None
    try:
        limit = parse_duration(deadline)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not timedelta(0) < limit <= LONGEST_TURN:
        raise typer.BadParameter(f"{deadline} is not between 0s and {format_duration(LONGEST_TURN)}")
    return limit


def _one_turn(server: Client, session: Json, *, text: str, limit: timedelta | None) -> Json:
    """The ended turn. Raises when it cannot be begun, did not complete, or took longer than the caller's limit."""
    session_id = str(session["id"])
    if session["state"] == "blocked":
        raise SessionBlocked(session_id, str(session["detail"]), str(session["advice"]), "")
    began = time.monotonic()
    sent = server.post(f"/sessions/{session_id}/send", {"text": text}, waits=True)
    if sent["turn_id"] is None:
        raise Unconfirmed(session_id)
    left = max(0.0, (limit or LONGEST_TURN).total_seconds() - (time.monotonic() - began))
    turn = server.wait(f"/sessions/{session_id}/turns/{sent['turn_id']}?wait_seconds={left}&until_waiting=true")
    if turn["outcome"] == "completed":
        return turn
    if turn["session_state"] == SessionState.WAITING:
        raise TurnFailed(session_id, WAITS.format(what=turn["session_detail"]))
    if limit is not None and turn["outcome"] is None and turn["session_state"] not in ENDED:
        with suppress(RemoteError):
            server.post(f"/sessions/{session_id}/interrupt", waits=True)
        raise TurnDeadlinePassed(session_id, limit, time.monotonic() - began)
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
