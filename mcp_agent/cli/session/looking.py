"""`mcp-agent session list|show|screen`."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Annotated, cast

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table

from mcp_agent.cli.context import (
    client,
    print_json,
    sessions_may_live,
    state_directory,
)
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.session.named import SessionId
from mcp_agent.durations import format_duration
from mcp_agent.errors import ServerUnreachable
from mcp_agent.server.client import Json
from mcp_agent.server.starting import holds_lock
from mcp_agent.sessions.record import load_records
from mcp_agent.sessions.record_views import recorded_view
from mcp_agent.sessions.signals import SessionState

_PIPED_WIDTH = 500
"""No cell of a table that a program reads is cut or folded."""


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
        Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH).print(_table(shown))
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
        return [recorded_view(record) for record in load_records(state)]


def _stopped(count: int) -> str:
    return "one that was stopped" if count == 1 else f"{count} that were stopped"


def _table(sessions: Iterable[Json]) -> Table:
    whole = Column("session", no_wrap=True)
    table = Table(whole, "name", "provider", "state", "age", "idle", "turn", "directory", box=box.SIMPLE_HEAD)
    for session in sessions:
        table.add_row(
            str(session["id"]),
            str(session["name"] or ""),
            str(session["provider"]),
            _state(session),
            _duration(time.time() - cast("float", session["created_at"])),
            _duration(cast("float | None", session["idle_seconds"])),
            str(session["current_turn"] or ""),
            str(session["working_directory"]),
        )
    return table


def _duration(seconds: float | None) -> str:
    return "" if seconds is None else format_duration(timedelta(seconds=max(0, int(seconds))))


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
    if found["closed"]:
        typer.echo(f"closed:    {cast('Json', found['closed'])['message']}")
    if found["advice"]:
        typer.echo(f"advice:    {found['advice']}")
    if found["bridge"] == "gone":
        typer.echo("bridge:    gone; its tools are not there until it is stopped and resumed")
    if found["attach"]:
        typer.echo(f"attach:    {found['attach']}")
    for line in _squeezed(cast("list[str]", found["screen"])):
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


def _squeezed(lines: Sequence[str]) -> Iterator[str]:
    """The lines without the empty ones that only fill the screen."""
    blank = False
    for line in lines:
        if line.strip():
            yield from ([""] if blank else [])
            yield line
        blank = not line.strip()


def _state(session: Json) -> str:
    return f"{session['state']} ({session['detail']})" if session["detail"] else str(session["state"])
