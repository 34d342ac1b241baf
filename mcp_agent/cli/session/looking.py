"""`mcp-agent session list|show`."""

import sys
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import cast

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
from mcp_agent.errors import ServerUnreachable
from mcp_agent.server.client import Json
from mcp_agent.server.starting import holds_lock

_PIPED_WIDTH = 500
"""No cell of a table that a program reads is cut or folded."""


def list_sessions(*, as_json: AsJson = False) -> None:
    """List the sessions. A server that was lost while they live is started again for it."""
    state = state_directory()
    try:
        with client(start=sessions_may_live(state)) as server:
            answer = server.get("/sessions")
    except ServerUnreachable:
        if holds_lock(state):
            raise
        answer = {"sessions": []}
    if as_json:
        print_json(answer)
        return
    whole = Column("session", no_wrap=True)
    table = Table(whole, "provider", "state", "age", "directory", box=box.SIMPLE_HEAD)
    for session in cast("list[Json]", answer["sessions"]):
        age = str(timedelta(seconds=int(time.time() - cast("float", session["created_at"]))))
        table.add_row(
            str(session["id"]), str(session["provider"]), _state(session), age, str(session["working_directory"])
        )
    Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH).print(table)


def show(session: SessionId, *, as_json: AsJson = False) -> None:
    """Show a session: its state, how to attach to it, and its screen."""
    with client() as server:
        found = server.get(f"/sessions/{session}")
    if as_json:
        print_json(found)
        return
    typer.echo(f"{found['id']}  {found['provider']} {found['provider_version'] or ''}  {_state(found)}")
    typer.echo(f"directory: {found['working_directory']}")
    if found["advice"]:
        typer.echo(f"advice:    {found['advice']}")
    if found["attach"]:
        typer.echo(f"attach:    {found['attach']}")
    for line in _squeezed(cast("list[str]", found["screen"])):
        typer.echo(f"  {line}".rstrip())


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
