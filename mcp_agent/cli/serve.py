"""`mcp-agent serve` and `mcp-agent server`: the tool server in the foreground, and the one in the background."""

import os
import sys
from typing import Annotated, cast

import typer

from mcp_agent.cli.context import client, print_json, sessions_may_live, state_directory
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.phrases import counted, number_of
from mcp_agent.errors import ServerUnreachable
from mcp_agent.server.starting import holds_lock

server_app = typer.Typer(help="The tool server of this user.", no_args_is_help=True)


def serve(
    *, detach: Annotated[bool, typer.Option("--detach", help="Start it in the background and return.")] = False
) -> None:
    """Run the tool server. Commands start it by themselves when it is needed."""
    if detach:
        client().close()
        return
    os.execv(sys.executable, [sys.executable, "-m", "mcp_agent.server"])


@server_app.command()
def status(*, as_json: AsJson = False) -> None:
    """Show the running server. Exit 1 when there is none."""
    try:
        with client(start=False) as server:
            found = server.get("/server")
    except ServerUnreachable:
        if holds_lock(state_directory()):
            raise
        if as_json:
            print_json({"running": False})
        else:
            typer.echo("not running")
        raise typer.Exit(1) from None
    if as_json:
        print_json({"running": True, **found})
        return
    sessions, calls = number_of(found["sessions"], "live session"), number_of(found["running_calls"], "running call")
    typer.echo(f"running: pid {found['pid']}, version {found['version']}, {sessions},")
    typer.echo(f"         {calls}, state in {found['home']}")


@server_app.command()
def stop(
    *,
    now: Annotated[bool, typer.Option("--now", help="End all sessions and calls first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop the server. Sessions live on in tmux and are found again, unless --now ends them."""
    try:
        with client(start=now and sessions_may_live(state_directory())) as server:
            done = server.post(f"/server/stop?now={'true' if now else 'false'}", waits=True)
            server.wait_until_gone()
        done["was_running"] = True
    except ServerUnreachable:
        if holds_lock(state_directory()):
            raise
        done = {"stopped_sessions": 0, "cancelled_executions": 0, "was_running": False}
    if as_json:
        print_json(done)
    else:
        cancelled = cast("int", done["cancelled_executions"])
        told = f"stopped; {counted(cancelled, 'execution')} cancelled" if cancelled else "stopped"
        typer.echo(told if done["was_running"] else "not running")
    if alive := cast("list[str]", done.get("still_alive", [])):
        names = ", ".join(alive)
        typer.echo(f"mcp-agent: the server was stopped, and processes of these sessions live still: {names}", err=True)
        raise typer.Exit(1)
