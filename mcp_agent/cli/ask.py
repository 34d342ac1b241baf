"""`mcp-agent ask`: one session, one prompt, its final answer, nothing left."""

import os
from contextlib import suppress
from datetime import timedelta
from typing import Annotated

import typer

from mcp_agent.cli.context import client, client_for_session, print_json, prompt_text
from mcp_agent.cli.one_turn import Wait, one_turn, turn_limit
from mcp_agent.cli.options import AsJson, Deadline
from mcp_agent.cli.start_body import start_body
from mcp_agent.cli.start_options import StartOptions, takes_start_options
from mcp_agent.errors import RemoteError, ServerUnreachable, SessionBlocked
from mcp_agent.processes import identify
from mcp_agent.server.client import Client, Json

WAITS = (
    "the CLI waits for an answer ({what}) and nobody is there to give one; name the tool with --allow-tool, or use"
    " `mcp-agent session start` and attach to it"
)


@takes_start_options
def ask(
    options: StartOptions,
    prompt: Annotated[str, typer.Argument(help="The prompt; - reads it from standard input.")],
    *,
    deadline: Deadline = None,
    as_json: AsJson = False,
) -> None:
    """Start a session, send one prompt, print the final answer, stop the session.

    The session ends with this command, however the command ends.
    """
    body = start_body(options)
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
        print_json({"session_id": session["id"], "provider": options.provider, "turn": turn})
    else:
        typer.echo(str(turn["final_text"]))


def _one_turn(server: Client, session: Json, *, text: str, limit: timedelta | None) -> Json:
    session_id = str(session["id"])
    if session["state"] == "blocked":
        raise SessionBlocked(session_id, str(session["detail"]), str(session["advice"]), "")

    def interrupt(turn_id: str) -> None:
        with suppress(RemoteError):
            server.post(f"/sessions/{session_id}/turns/{turn_id}/deadline", waits=True)

    return one_turn(server, session_id, text, Wait(limit, interrupt, WAITS))


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
