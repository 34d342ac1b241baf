"""`mcp-agent session stop`."""

import typer

from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.session.named import SessionId


def stop(session: SessionId, *, as_json: AsJson = False) -> None:
    """Stop a session: its tool calls, its CLI and all it started, its pane."""
    with client() as server:
        stopped = server.post(f"/sessions/{session}/stop", waits=True)
    if as_json:
        print_json(stopped)
    else:
        typer.echo(f"stopped; {stopped['cancelled_calls']} tool calls were cancelled")
