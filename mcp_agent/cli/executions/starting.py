"""`mcp-agent executions start`."""

from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Annotated, cast

import typer

from mcp_agent.cli.context import absolute, client_for_session, print_json
from mcp_agent.cli.executions.named import session_or_none
from mcp_agent.cli.executions.waiting import goes_on, print_end
from mcp_agent.cli.one_turn import turn_limit
from mcp_agent.cli.options import LONGEST_WAIT, AsJson
from mcp_agent.cli.session.input import Prompt, PromptFile, text_of
from mcp_agent.cli.start_body import start_body
from mcp_agent.cli.start_options import CommonOptions, StartOptions, takes_start_options
from mcp_agent.errors import UnknownAgent, UsageError
from mcp_agent.server.client import Client, Json

_CONFIGURED = ("tool", "permission_mode")
"""What a configured agent has from its configuration, and from nowhere else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionOptions(CommonOptions):
    """The options of an execution."""

    agent: Annotated[
        str | None, typer.Option("--agent", "-a", metavar="NAME", help="The configured agent that does it.")
    ] = None
    provider: Annotated[
        str | None, typer.Option("--provider", "-p", metavar="ID", help="Or the CLI that does it, without an agent.")
    ] = None
    directory: Annotated[
        Path | None,
        typer.Option("--directory", "--cwd", "-C", help="Where it works; default: the agent's own directory, or here."),
    ] = None
    deadline: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="End the work when it takes longer, such as 30m; default: the agent's limit.",
        ),
    ] = None
    deadline_at: Annotated[
        str | None,
        typer.Option("--deadline-at", metavar="TIME", help="The same as a point in time, such as 2030-01-31T18:00."),
    ] = None
    idempotency_key: Annotated[
        str | None,
        typer.Option("--idempotency-key", metavar="KEY", help="The same key with the same task starts it only once."),
    ] = None
    parent: Annotated[
        str | None,
        typer.Option("--parent", metavar="SESSION", callback=session_or_none, help="A session to tell of the result."),
    ] = None


@takes_start_options
def start(
    options: ExecutionOptions,
    instructions: Prompt = None,
    *,
    file: PromptFile = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for its end and print its final answer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Start an execution; its id is printed as soon as it is kept.

    It goes on whatever becomes of this command, with --wait too.
    """
    task = _task(options, text_of(instructions, file))
    body = None if options.provider is None else _session(options, options.provider)
    with client_for_session() as server:
        if body is None:
            body = _session(options, _provider(server, str(options.agent))) | {"provider": ""}
        execution = server.post("/executions", body | task)
        execution_id = str(execution["execution_id"])
        if wait:
            with goes_on(execution_id):
                typer.echo(f"mcp-agent: execution {execution_id}", err=True)
                print_end(server, execution_id, limit=LONGEST_WAIT, as_json=as_json)
        elif as_json:
            print_json(execution)
        else:
            typer.echo(execution_id)


def _task(options: ExecutionOptions, instructions: str) -> Json:
    """What is to be done. Raises `UsageError` for what cannot be meant."""
    if (options.agent is None) == (options.provider is None):
        raise UsageError("say who does it by one of --agent and --provider")
    if options.deadline is not None and options.deadline_at is not None:
        raise UsageError("choose one of --deadline and --deadline-at")
    if options.agent is not None and (given := [name for name in _CONFIGURED if getattr(options, name)]):
        option = given[0].replace("_", "-")
        raise UsageError(f"--{option} goes with --provider: an agent's is configured ([agents.{options.agent}])")
    limit = turn_limit(options.deadline)
    return {
        "agent": options.agent,
        "instructions": instructions,
        "in_directory": None if options.directory is None else str(absolute(options.directory)),
        "deadline_seconds": limit.total_seconds() if limit else None,
        "deadline_at": _epoch(options.deadline_at),
        "idempotency_key": options.idempotency_key,
        "parent": options.parent,
    }


def _session(options: ExecutionOptions, provider: str) -> Json:
    """What its session is started with, checked as that of any session."""
    common = {option.name: getattr(options, option.name) for option in fields(CommonOptions)}
    return start_body(StartOptions(provider=provider, directory=options.directory or Path(), **common))


def _provider(server: Client, agent: str) -> str:
    """Raises `UnknownAgent`."""
    agents = {str(known["name"]): known for known in cast("list[Json]", server.get("/agents")["agents"])}
    if agent not in agents:
        raise UnknownAgent(agent, sorted(agents))
    return str(agents[agent]["provider"])


def _epoch(text: str | None) -> float | None:
    """A point in time as people write it; without a zone it is local."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise typer.BadParameter(f"--deadline-at {text}: no point in time, such as 2030-01-31T18:00") from error
