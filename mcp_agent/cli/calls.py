"""`mcp-agent calls`: what is known of tool calls, and what people can do about them."""

from collections.abc import Sequence
from typing import Annotated, cast

import typer

from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.options import AsJson, WaitTimeout, wait_limit
from mcp_agent.cli.phrases import ago, number_of, span
from mcp_agent.cli.tables import Row, print_table
from mcp_agent.errors import UnknownCall, UsageError
from mcp_agent.server.client import Json

calls_app = typer.Typer(help="Tool calls: what is known of them.", no_args_is_help=True)

CallId = Annotated[str, typer.Argument(metavar="CALL")]

_DAYS = 30.0
_LONGEST_DETAIL = 200
_LIMITS = {
    "tool_wait": "the wait ends in {span}",
    "server_tool": "the work is stopped in {span}",
}
"""What the limits do that can fire next, by their layers."""
UNSETTLED_EXIT = 1
"""The call is still running, or nobody knows what happened."""


@calls_app.command("list")
def list_calls(
    *,
    unknown: Annotated[bool, typer.Option("--unknown", help="Only calls whose outcome nobody knows.")] = False,
    session: Annotated[str | None, typer.Option(metavar="SESSION", help="Only calls of this session.")] = None,
    as_json: AsJson = False,
) -> None:
    """List calls, oldest first: their age, their last sign of progress, and the limit that fires next."""
    query = {"unknown_only": "true" if unknown else "false"} | ({"session": session} if session else {})
    with client() as server:
        answer = server.get("/calls", **query)
    if as_json:
        print_json(answer)
        return
    calls = cast("list[Json]", answer["calls"])
    if not calls:
        typer.echo("no calls")
        return
    print_calls(calls)


def print_calls(calls: Sequence[Json]) -> None:
    """Print a table of calls, of which there is at least one."""
    spare = ("progress", "age", "session", "wait ended by", "tool", "next limit")
    print_table([_row(call) for call in calls], whole=("call", "state"), spare=spare)


def _row(call: Json) -> Row:
    return {
        "call": str(call["call_id"]),
        "state": _happened(call),
        "tool": str(call["tool"]),
        "session": str(call["session_id"]),
        "age": ago(call["started_at"]),
        "progress": ago(call["last_progress_at"]),
        "wait ended by": str(call["why_ended"] or "-"),
        "next limit": _next_limit(call) or "-",
    }


@calls_app.command()
def show(call: CallId, *, as_json: AsJson = False) -> None:
    """Show all that is known of a call. Looking up never runs anything."""
    with client() as server:
        _print(server.get(_path(call)), as_json=as_json)


@calls_app.command()
def wait(
    call: CallId,
    *,
    timeout: WaitTimeout = "1h",
    as_json: AsJson = False,
) -> None:
    """Wait until nothing more is to be learned of a call. Exit 1 when the time passed first."""
    limit = wait_limit(timeout)
    with client() as server:
        found = server.wait(f"{_path(call)}?wait_seconds={limit.total_seconds()}")
    _print(found, as_json=as_json)
    if found["happened"] in {None, "unknown"} and not found["resolution"]:
        raise typer.Exit(UNSETTLED_EXIT)


@calls_app.command()
def cancel(call: CallId, *, as_json: AsJson = False) -> None:
    """Cancel a running call, and return when its clean-up is over. Exit 1 when that takes too long."""
    with client() as server:
        found = server.delete(_path(call))
    if as_json:
        print_json(found)
    elif found["still_runs"]:
        typer.echo("told to stop, and it still runs; `mcp-agent calls wait` waits for its end")
    else:
        typer.echo("cancelled" if found["cancelled"] else f"not running; outcome: {_happened(found)}")
    if found["still_runs"]:
        raise typer.Exit(UNSETTLED_EXIT)


@calls_app.command()
def resolve(
    call: CallId,
    *,
    happened: Annotated[bool, typer.Option("--happened", help="It took place.")] = False,
    did_not_happen: Annotated[bool, typer.Option("--did-not-happen", help="It did not, and will not.")] = False,
    note: Annotated[str, typer.Option(help="How you know.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say what you found out about a call of unknown outcome. It is added to its record."""
    if happened == did_not_happen:
        raise UsageError("say one of --happened and --did-not-happen")
    with client() as server:
        _print(server.post(f"{_path(call)}/resolve", {"happened": happened, "note": note}), as_json=as_json)


@calls_app.command()
def prune(
    *,
    days: Annotated[
        float | None, typer.Option(min=0, help=f"Forget calls that ended longer ago; default: {_DAYS:g}.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Forget every call that has ended.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget old calls with their outputs. Those of unknown outcome are kept."""
    if every and days is not None:
        raise UsageError("choose one of --days and --all")
    if days == 0:
        raise UsageError("--days 0 would forget every call that has ended: use 1 or more, or say --all")
    with client() as server:
        done = server.post(f"/calls/prune?days={0 if every else _DAYS if days is None else days}", waits=True)
    if as_json:
        print_json(done)
    else:
        typer.echo(f"{number_of(done['forgotten'], 'call')} forgotten")


def _path(call: str) -> str:
    """Raises `UnknownCall` for what no call's id can be."""
    if not (call.isascii() and call.replace("_", "").isalnum()):
        raise UnknownCall(call)
    return f"/calls/{call}"


def _print(call: Json, *, as_json: bool) -> None:
    if as_json:
        print_json(call)
        return
    typer.echo(f"{call['call_id']}  {call['tool']} of {call['session_id']}, started {ago(call['started_at'])} ago")
    typer.echo(f"arguments: {call['arguments']}")
    typer.echo(f"wait:      {'ended by ' + str(call['why_ended']) if call['why_ended'] else 'goes on'}")
    if limit := _next_limit(call):
        typer.echo(f"limit:     {limit}")
    typer.echo(f"outcome:   {_happened(call)}")
    if call["detail"]:
        typer.echo(f"detail:    {str(call['detail'])[:_LONGEST_DETAIL]}")
    for found in cast("list[Json]", call["evidence"]):
        typer.echo(f"evidence:  {found['verdict']}: {found['detail']}")
    for contradiction in cast("list[str]", call["contradictions"]):
        typer.echo(f"note:      {contradiction}")
    typer.echo(f"output:    {call['output_directory']}")


def _happened(call: Json) -> str:
    resolution = cast("Json | None", call["resolution"])
    if resolution is not None:
        said = "happened" if resolution["happened"] else "did not happen"
        return f"{said}, says the {resolution['by']}"
    return f"{call['happened'] or 'running'}{', late' if call['late'] else ''}"


def _next_limit(call: Json) -> str | None:
    """What the limit that fires next will do, when, and which one it is; None when none will."""
    limit = cast("Json | None", call["next_limit"])
    if limit is None:
        return None
    layer = str(limit["layer"])
    return f"{_LIMITS.get(layer, 'it fires in {span}').format(span=span(limit['in_seconds']))} ({layer})"
