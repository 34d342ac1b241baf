"""`mcp-agent session`: start, list, show, send, interrupt, stop."""

import re
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, cast

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table

from mcp_agent.cli.context import (
    client,
    client_for_session,
    print_json,
    prompt_text,
    sessions_may_live,
    start_body,
    state_directory,
    told_as_well,
)
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
from mcp_agent.errors import ServerUnreachable, SessionBlocked, Unconfirmed, UnknownSession
from mcp_agent.server.client import Json
from mcp_agent.server.starting import holds_lock

session_app = typer.Typer(help="Provider CLIs in persistent tmux panes.", no_args_is_help=True)

_PIPED_WIDTH = 500
"""No cell of a table that a program reads is cut or folded."""

_SESSION_ID = re.compile(r"s-[0-9a-f]{1,40}")


def _session_id(text: str) -> str:
    """An id stands in a path of the server's, so nothing else may pass for one."""
    if not _SESSION_ID.fullmatch(text):
        raise UnknownSession(text[:60])
    return text


SessionId = Annotated[str, typer.Argument(metavar="SESSION", callback=_session_id)]


@session_app.command()
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


@session_app.command("list")
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


@session_app.command()
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


@session_app.command()
def send(
    session: SessionId,
    prompt: Annotated[str, typer.Argument(help="The prompt; - reads it from standard input.")],
    *,
    clear_draft: Annotated[
        bool, typer.Option("--clear-draft", help="Discard what somebody left in the composer first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Send a prompt, and say what became of it."""
    text = prompt_text(prompt)
    with client() as server:
        sent = server.post(f"/sessions/{session}/send", {"text": text, "clear_draft": clear_draft}, waits=True)
    if as_json:
        print_json(sent)
    else:
        typer.echo(f"{sent['outcome']} {sent['turn_id'] or ''}".rstrip())
    if sent["turn_id"] is None:
        told_as_well(Unconfirmed(session))


@session_app.command()
def interrupt(session: SessionId, *, as_json: AsJson = False) -> None:
    """Interrupt the running turn and keep the session."""
    with client() as server:
        done = server.post(f"/sessions/{session}/interrupt", waits=True)
    if as_json:
        print_json(done)
    else:
        typer.echo("interrupted" if done["interrupted"] else "no turn was interrupted")


@session_app.command()
def stop(session: SessionId, *, as_json: AsJson = False) -> None:
    """Stop a session: its tool calls, its CLI and all it started, its pane."""
    with client() as server:
        stopped = server.post(f"/sessions/{session}/stop", waits=True)
    if as_json:
        print_json(stopped)
    else:
        typer.echo(f"stopped; {stopped['cancelled_calls']} tool calls were cancelled")


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
