"""`mcp-agent session resume`."""

import os
from typing import Annotated, cast

import typer

from mcp_agent import registry
from mcp_agent.cli.context import client_for_session, print_json, told_as_well
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.session.named import SessionId
from mcp_agent.errors import SessionBlocked, UsageError
from mcp_agent.server.client import Client
from mcp_agent.sessions.environment import named_by_adapter
from mcp_agent.sessions.starting.named_variables import read_variables

Env = Annotated[
    list[str] | None,
    typer.Option("--env", metavar="NAME[=VALUE]", help="A variable that it was started with; repeatable."),
]
KeyVariable = Annotated[
    str | None,
    typer.Option("--model-key-variable", metavar="NAME", help="The variable that holds its model endpoint's key."),
]


def resume(
    session: SessionId, *, env: Env = None, model_key_variable: KeyVariable = None, as_json: AsJson = False
) -> None:
    """Go on with the conversation of a session that is lost, exited or stopped.

    It keeps its id, its turns and its options. Of one that was stopped nothing secret is kept: your credentials are
    taken, and --env and --model-key-variable say the rest again.
    """
    body = {"api_key": _key(model_key_variable)} if model_key_variable is not None else {}
    named = read_variables(env or [], os.environ)
    with client_for_session() as server:
        environment = _credentials(server, session) | named
        found = server.post(f"/sessions/{session}/resume", {**body, "environment": environment}, waits=True)
    if as_json:
        print_json(found)
    else:
        typer.echo(f"{found['id']} {found['state']}")
    if found["state"] == "blocked":
        told_as_well(SessionBlocked(str(found["id"]), str(found["detail"]), str(found["advice"]), ""))


def _credentials(server: Client, session: str) -> dict[str, str]:
    """What the session's CLI may see of our variables alone; nothing for a session that the server will not find."""
    known = cast("list[dict[str, object]]", server.get("/sessions", on_record="true")["sessions"])
    providers = [str(each["provider"]) for each in known if session in {each["id"], each["name"]}]
    if not providers:
        return {}
    return named_by_adapter(os.environ, registry.load(providers[-1]).environment_names)


def _key(variable: str) -> str:
    if not os.environ.get(variable):
        raise UsageError(f"--model-key-variable: the variable {variable} is not set")
    return os.environ[variable]
