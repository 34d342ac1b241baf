"""What every command needs: the state directory, a client, the caller's environment, an output."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import typer

from mcp_agent.config import load_config
from mcp_agent.errors import BadWorkingDirectory, McpAgentError, UsageError
from mcp_agent.processes import SESSION_MARK, marked
from mcp_agent.server.client import Client, exit_code_of, limit_warnings
from mcp_agent.server.starting import PACKAGE
from mcp_agent.sessions.record import load_records, unreadable_sessions
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import SETTING_VARIABLES


def state_directory() -> StateDirectory:
    return StateDirectory.from_environment(os.environ)


def client(*, start: bool = True) -> Client:
    """A client of this user's server, started when none answers and `start` is set."""
    load_config()  # what is wrong with it is told here, and not by a server that does not start
    connected = Client.connect(state_directory(), start=start)
    if connected.started:
        _warn(connected)
    return connected


def client_for_session() -> Client:
    """A client that is about to start a session: what is wrong with the limits is told, whoever started the server."""
    load_config()
    connected = Client.connect(state_directory())
    _warn(connected)
    return connected


def _warn(connected: Client) -> None:
    for warning in [*limit_warnings(connected.server), *_not_in_force(connected.server), *_elsewhere(connected.server)]:
        typer.echo(f"warning: {warning}", err=True)


def _not_in_force(server: Mapping[str, object]) -> list[str]:
    """Limits of our environment that the running server was started without."""
    settings = server.get("settings")
    known: Mapping[str, object] = settings if isinstance(settings, dict) else {}
    return [
        f"{name}={os.environ[name]} is not in force: the running server was started with"
        f" {known.get(name) or 'none'}; run `mcp-agent server stop` first"
        for name in SETTING_VARIABLES
        if name in os.environ and os.environ[name] != known.get(name)
    ]


def _elsewhere(server: Mapping[str, object]) -> list[str]:
    """A server of the same version may be another checkout's."""
    package = server.get("package")
    if package in {None, str(PACKAGE)}:
        return []
    return [f"the running server is the one of {package}; run `mcp-agent server stop` first to have this one's"]


def sessions_may_live(state: StateDirectory) -> bool:
    """Whether there are sessions that a server would find again, or could end."""
    try:
        if any(not record.stopped for record in load_records(state)):
            return True
        return any(marked(SESSION_MARK, session_id) for session_id in unreadable_sessions(state))
    except OSError:
        return False


def prompt_text(argument: str) -> str:
    """The prompt of an argument, or of standard input for `-`. Raises `UsageError` when no session could take it."""
    try:
        text = sys.stdin.buffer.read().decode() if argument == "-" else argument
        text.encode()
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise UsageError(f"the prompt is not valid UTF-8: {error.reason}") from error
    if not text.strip():
        raise UsageError("the prompt is empty")
    return text


def absolute(directory: Path) -> Path:
    """The directory as a person means it. Raises `BadWorkingDirectory` when the current one is gone."""
    try:
        return directory.expanduser().absolute()
    except FileNotFoundError as error:
        raise BadWorkingDirectory(directory, "the current directory does not exist any more") from error


def print_json(value: Mapping[str, object]) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def error_facts(error: McpAgentError) -> dict[str, object]:
    """An error as programs read it."""
    return {"kind": error.kind, "message": str(error), "exit_code": exit_code_of(error)}


def told_as_well(*errors: McpAgentError) -> NoReturn:
    """Leave with the first of these errors after an answer that programs have read already: only people are told."""
    for sentence in dict.fromkeys(map(str, errors)):
        typer.echo(f"mcp-agent: {sentence}", err=True)
    raise typer.Exit(exit_code_of(errors[0]))
