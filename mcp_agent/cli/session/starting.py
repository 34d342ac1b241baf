"""`mcp-agent session start`."""

from pathlib import Path

import typer

from mcp_agent.cli.context import client_for_session, print_json, start_body, told_as_well
from mcp_agent.cli.options import (
    AllowTool,
    AsJson,
    Directory,
    Model,
    ModelEndpoint,
    ModelKeyVariable,
    OnlyTools,
    PermissionMode,
    Provider,
    Trust,
)
from mcp_agent.errors import SessionBlocked


def start(
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
    as_json: AsJson = False,
) -> None:
    """Start a session and wait for its prompt; its id is printed."""
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
    with client_for_session() as server:
        session = server.post("/sessions", body, waits=True)
    if as_json:
        print_json(session)
    else:
        typer.echo(session["id"])
    if session["state"] == "blocked":
        told_as_well(SessionBlocked(str(session["id"]), str(session["detail"]), str(session["advice"]), ""))
