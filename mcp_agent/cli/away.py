"""Commands that watch for long outlive the server that they began with."""

import time
from datetime import timedelta

import typer

from mcp_agent.cli.context import state_directory
from mcp_agent.errors import McpAgentError, RemoteError, ServerUnreachable
from mcp_agent.server.client import Client

AWAY = timedelta(milliseconds=500)
"""How long to leave a server alone that does not answer."""
_SERVER_GONE = "ServerStopped"


def was_stopped(error: McpAgentError) -> bool:
    """Whether the server said that somebody stops it."""
    return isinstance(error, RemoteError) and error.kind == _SERVER_GONE


def is_away(error: McpAgentError) -> bool:
    """Whether the server is gone, or is about to go."""
    return isinstance(error, ServerUnreachable) or was_stopped(error)


def next_server(*, until_seconds: float = float("inf")) -> Client:
    """The next server, once somebody has started one: whoever only watches does not.

    Raises `ServerUnreachable` when there is none by then, on the monotonic clock.
    """
    typer.echo("the server is away; waiting for the next one", err=True)
    while True:
        time.sleep(AWAY.total_seconds())
        try:
            server = Client.connect(state_directory(), start=False)
        except ServerUnreachable:
            if time.monotonic() >= until_seconds:
                raise
            continue
        if not server.server.get("stopping"):
            return server
