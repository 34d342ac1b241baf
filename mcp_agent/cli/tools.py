"""`mcp-agent tools`: which tools there are, and calling one by hand."""

import json
import secrets
from pathlib import Path
from typing import Annotated, cast
from urllib.parse import quote

import typer

from mcp_agent.cli.context import absolute, client, print_json
from mcp_agent.cli.options import AsJson
from mcp_agent.errors import UnknownTool, UsageError
from mcp_agent.server.client import Json

tools_app = typer.Typer(help="The tools that sessions have.", no_args_is_help=True)


@tools_app.command("list")
def list_tools(*, as_json: AsJson = False) -> None:
    """List the tools, your own ones included, and what is wrong with those that could not be loaded."""
    with client() as server:
        answer = server.get("/tools")
    if as_json:
        print_json(answer)
        return
    for tool in cast("list[Json]", answer["tools"]):
        typer.echo(f"{tool['name']}  ({tool['category']})  {str(tool['description']).splitlines()[0]}")
    for problem in cast("list[str]", answer["problems"]):
        typer.echo(f"problem: {problem}", err=True)


@tools_app.command()
def call(
    tool: Annotated[str, typer.Argument(metavar="TOOL")],
    arguments: Annotated[str, typer.Argument(metavar="JSON", help="The arguments object.")] = "{}",
    *,
    directory: Annotated[Path, typer.Option("--directory", "-C", help="The working directory of the call.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Call a tool by hand. The call is recorded like any other; Ctrl-C cancels it. Exit 1 unless it succeeded."""
    given = _object(arguments)
    with client() as server:
        known = cast("list[Json]", server.get("/tools")["tools"])
        found = next((one for one in known if one["name"] == tool), None)
        if found is None:
            raise UnknownTool(tool, sorted(str(one["name"]) for one in known), of="this server")
        where = quote(str(absolute(directory)), safe="")
        path = f"/tools/{found['category']}/{quote(tool, safe='')}?working_directory={where}"
        call_id = f"call_{secrets.token_hex(10)}"
        answer = server.call_tool(path, given, call_id=call_id)
        happened = server.get(f"/calls/{call_id}")["happened"]
    if as_json:
        print_json(answer)
    else:
        typer.echo(str(answer["text"]))
    if happened != "succeeded":
        raise typer.Exit(1)


def _object(text: str) -> Json:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(f"the arguments are no JSON: {error}") from error
    if not isinstance(value, dict):
        raise UsageError('the arguments must be a JSON object, such as \'{"command": "date"}\'')
    return cast("Json", value)
