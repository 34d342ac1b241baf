"""`mcp-agent executions cancel`."""

from typing import Annotated

import typer

from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.executions.named import ExecutionId
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.phrases import number_of
from mcp_agent.server.client import Json


def cancel(
    execution: ExecutionId,
    *,
    cascade: Annotated[bool, typer.Option("--cascade", help="Also what it started itself.")] = False,
    as_json: AsJson = False,
) -> None:
    """Cancel an execution, and return when nothing of it runs: its turn, its session, all their processes."""
    with client() as server:
        done = server.post(f"/executions/{execution}/cancel?cascade={str(cascade).lower()}", waits=True)
    if as_json:
        print_json(done)
    else:
        typer.echo(_told(done, cascade=cascade))


def _told(done: Json, *, cascade: bool) -> str:
    told = "cancelled" if done["cancelled"] else f"had ended already: {done['state']}"
    if not done["children"]:
        return told
    below = number_of(done["children"], "execution")
    return f"{told}; {below} that it started {'cancelled' if cascade else 'still under way (--cascade cancels them)'}"
