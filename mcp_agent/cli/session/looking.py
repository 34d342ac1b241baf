"""`mcp-agent session list|show|screen`."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, cast

import typer

from mcp_agent.cli.context import (
    client,
    print_json,
    sessions_may_live,
    state_directory,
)
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.phrases import ago, span
from mcp_agent.cli.session.named import SessionId
from mcp_agent.cli.tables import Row, print_table
from mcp_agent.errors import ServerUnreachable
from mcp_agent.server.client import Json
from mcp_agent.server.starting import holds_lock
from mcp_agent.sessions.record import load_records, unreadable_sessions
from mcp_agent.sessions.record_views import recorded_view, unreadable_view
from mcp_agent.sessions.signals import SessionState

_WHOLE = ("session", "name", "state")
_SPARE = ("directory", "execution", "provider", "age", "turn", "idle")


def list_sessions(
    *,
    every: Annotated[bool, typer.Option("--all", help="Those that were stopped, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the sessions. A server that was lost while they live is started again for it."""
    found = _sessions()
    shown = [session for session in found if every or session["state"] != SessionState.STOPPED]
    if as_json:
        print_json({"sessions": shown})
    elif shown:
        print_table([_row(session) for session in shown], whole=_WHOLE, spare=_SPARE)
    else:
        typer.echo("no sessions" + (f"; --all shows the {_stopped(len(found))}" if found else ""))


def _sessions() -> list[Json]:
    state = state_directory()
    try:
        with client(start=sessions_may_live(state)) as server:
            return cast("list[Json]", server.get("/sessions", on_record="true")["sessions"])
    except ServerUnreachable:
        if holds_lock(state):
            raise
        unreadable = [unreadable_view(each) for each in unreadable_sessions(state)]
        return [recorded_view(record) for record in load_records(state)] + unreadable


def _stopped(count: int) -> str:
    return "one that was stopped" if count == 1 else f"{count} that were stopped"


def _row(session: Json) -> Row:
    return {
        "session": str(session["id"]),
        "name": str(session["name"] or ""),
        "provider": str(session["provider"]),
        "state": _state(session),
        "age": ago(session["created_at"]),
        "idle": span(session["idle_seconds"]),
        "turn": str(session["current_turn"] or ""),
        "execution": str(session["execution"] or ""),
        "directory": str(session["working_directory"]),
    }


def show(session: SessionId, *, as_json: AsJson = False) -> None:
    """Show a session: its state, how to attach to it, and its screen."""
    with client() as server:
        found = server.get(f"/sessions/{session}")
    if as_json:
        print_json(found)
        return
    called = f"  {found['name']}" if found["name"] else ""
    typer.echo(f"{found['id']}{called}  {found['provider']} {found['provider_version'] or ''}  {_state(found)}")
    typer.echo(f"directory: {found['working_directory']}")
    if found["execution"]:
        parent = f", started by session {found['parent_session']}" if found["parent_session"] else ""
        typer.echo(f"execution: {found['execution']}{parent}")
    if found["closed"]:
        typer.echo(f"closed:    {cast('Json', found['closed'])['message']}")
    if found["resets_at"]:
        until = datetime.fromtimestamp(cast("float", found["resets_at"])).astimezone()
        typer.echo(f"limited:   until {until.isoformat(timespec='minutes')}")
    if found["advice"]:
        typer.echo(f"advice:    {found['advice']}")
    if found["bridge"] == "gone":
        typer.echo("bridge:    gone; its tools are not there until it is stopped and resumed")
    if found["attach"]:
        typer.echo(f"attach:    {found['attach']}")
    for line in squeezed(cast("list[str]", found["screen"])):
        typer.echo(f"  {line}".rstrip())


def screen(session: SessionId, *, as_json: AsJson = False) -> None:
    """Print what the CLI shows now; of a session that is over, what it showed last."""
    with client() as server:
        found = server.get(f"/sessions/{session}/screen")
    if as_json:
        print_json(found)
        return
    lines = cast("list[str]", found["lines"])
    while lines and not lines[-1].strip():
        lines.pop()
    typer.echo("\n".join(lines))


def squeezed(lines: Sequence[str]) -> Iterator[str]:
    """The lines without the empty ones that only fill the screen."""
    blank = False
    for line in lines:
        if line.strip():
            yield from ([""] if blank else [])
            yield line
        blank = not line.strip()


def _state(session: Json) -> str:
    return f"{session['state']} ({session['detail']})" if session["detail"] else str(session["state"])
