"""`mcp-agent session stop`."""

from typing import Annotated, cast

import typer

from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.phrases import counted
from mcp_agent.cli.session.named import SessionIds
from mcp_agent.errors import McpAgentError, UsageError
from mcp_agent.server.client import Client, Json


def stop(
    sessions: SessionIds = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Every session.")] = False,
    cascade: Annotated[bool, typer.Option("--cascade", help="End the executions that it started, too.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop sessions: their tool calls, their CLIs and all that those started, their panes."""
    if every == bool(sessions):
        raise UsageError("name the sessions to stop, or say --all")
    with client() as server:
        stopped, failed = _stop_all(server) if every else _stop_each(server, sessions or [], cascade=cascade)
    if as_json:
        print_json(stopped[0] if sessions and len(sessions) == 1 and stopped else {"sessions": stopped})
    else:
        typer.echo(_told(stopped, every=every))
    if failed is not None:
        raise failed


def _stop_each(server: Client, sessions: list[str], *, cascade: bool) -> tuple[list[Json], McpAgentError | None]:
    """What was stopped, and the first thing that went wrong: one wrong name spares no other session."""
    stopped, failed = [], None
    for session in sessions:
        try:
            answer = server.post(f"/sessions/{session}/stop{'?cascade=true' if cascade else ''}", waits=True)
        except McpAgentError as error:
            if len(sessions) == 1:
                raise
            failed = failed or error
        else:
            stopped.append(answer if len(sessions) == 1 else {"session": session, **answer})
    return stopped, failed


def _stop_all(server: Client) -> tuple[list[Json], None]:
    found = cast("dict[str, int]", server.post("/server/sessions/stop", waits=True)["sessions"])
    return [{"session": session, "cancelled_calls": calls} for session, calls in found.items()], None


def _told(stopped: list[Json], *, every: bool) -> str:
    calls = counted(sum(cast("int", answer["cancelled_calls"]) for answer in stopped), "tool call")
    if not every and len(stopped) == 1:
        return f"stopped; {calls} cancelled"
    return f"{counted(len(stopped), 'session')} stopped; {calls} cancelled"
