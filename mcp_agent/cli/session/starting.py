"""`mcp-agent session start`."""

from typing import Annotated

import typer

from mcp_agent import registry
from mcp_agent.cli.context import client_for_session, print_json, told_as_well
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.provider_facts import untested
from mcp_agent.cli.session.named import NewName
from mcp_agent.cli.start_body import start_body
from mcp_agent.cli.start_options import StartOptions, takes_start_options
from mcp_agent.errors import SessionBlocked
from mcp_agent.server.client import Json
from mcp_agent.sessions.retention.clock import OPTION, parse_wish

Resume = Annotated[
    str | None,
    typer.Option("--resume", metavar="ID", help="Go on with a conversation of the provider, by its own id."),
]
Columns = Annotated[int | None, typer.Option("--columns", min=40, max=1000, help="The width of its pane.")]
Rows = Annotated[int | None, typer.Option("--rows", min=10, max=1000, help="The height of its pane.")]


def _checked_wish(text: str | None) -> str | None:
    if text is not None:
        parse_wish(text)
    return text


IdleRetention = Annotated[
    str | None,
    typer.Option(
        OPTION,
        metavar="DURATION|off",
        callback=_checked_wish,
        help="How long it is kept while it is idle, such as 30m; default: as `mcp-agent timeouts` says.",
    ),
]


@takes_start_options
def start(
    options: StartOptions,
    *,
    name: NewName = None,
    resume: Resume = None,
    columns: Columns = None,
    rows: Rows = None,
    idle_retention: IdleRetention = None,
    as_json: AsJson = False,
) -> None:
    """Start a session and wait for its prompt; its id is printed."""
    wishes = {
        "name": name,
        "resume": resume,
        "columns": columns,
        "rows": rows,
        "idle_retention": idle_retention,
    }
    body = start_body(options) | {key: value for key, value in wishes.items() if value is not None}
    with client_for_session() as server:
        session = server.post("/sessions", body, waits=True)
    _warn_of_version(session)
    if as_json:
        print_json(session)
    else:
        typer.echo(session["id"])
    if session["state"] == "blocked":
        told_as_well(SessionBlocked(str(session["id"]), str(session["detail"]), str(session["advice"]), ""))


def _warn_of_version(session: Json) -> None:
    """The CLI is asked for its version while it starts: one that did not say it by now is not warned of."""
    if version := session["provider_version"]:
        for warning in untested(registry.load(str(session["provider"])), str(version)):
            typer.echo(f"warning: {warning}", err=True)
