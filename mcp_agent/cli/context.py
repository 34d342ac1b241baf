"""What every command needs: the state directory, a client, the caller's environment, an output."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from mcp_agent import registry
from mcp_agent.errors import UsageError
from mcp_agent.server.client import Client
from mcp_agent.sessions.environment import named_by_adapter, shared
from mcp_agent.state import StateDirectory
from mcp_agent.tmux.version import check_tmux


def state_directory() -> StateDirectory:
    return StateDirectory.from_environment(os.environ)


def client(*, start: bool = True) -> Client:
    """A client of this user's server, started when none answers and `start` is set."""
    return Client.connect(state_directory(), start=start)


def caller_environment(provider: str) -> dict[str, str]:
    """What of our variables the session may see; nothing else leaves this process.

    Raises `UnknownAdapter` before anything is started.
    """
    adapter = registry.load(provider)
    return {**shared(os.environ, home=None), **named_by_adapter(os.environ, adapter.environment_names)}


def start_body(
    *,
    provider: str,
    directory: Path,
    allow_tools: Sequence[str],
    trust: bool,
    model: str | None,
    permission_mode: str | None,
    model_endpoint: str | None,
    model_key_variable: str | None,
) -> dict[str, object]:
    """The body of `POST /sessions` for these options, checked as far as this side can. Raises on bad input."""
    environment = caller_environment(provider)
    check_tmux()
    body: dict[str, object] = {
        "provider": provider,
        "working_directory": str(directory.expanduser().absolute()),
        "environment": environment,
        "allow_tools": list(allow_tools),
        "trust": trust,
        "model": model,
        "permission_mode": permission_mode,
    }
    if model_endpoint is not None:
        body["endpoint"] = {"base_url": model_endpoint, "api_key": _key(model_key_variable)}
    return body


def _key(variable: str | None) -> str:
    if variable is None or not os.environ.get(variable):
        raise UsageError("--model-endpoint needs --model-key-variable, the name of a variable that holds its key")
    return os.environ[variable]


def print_json(value: Mapping[str, object]) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
