"""`mcp-agent executions list|agents`."""

import time
from typing import Annotated, cast

import typer

from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.executions.named import session_or_none
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.phrases import ago, span
from mcp_agent.cli.session.history import harmless
from mcp_agent.cli.tables import Row, print_table
from mcp_agent.errors import AFTER_A_CHANGE, UsageError
from mcp_agent.executions.records import ExecutionState
from mcp_agent.server.client import Json

_SHOWN = 40
_MOST = 100_000
_SPARE = ("parent", "deadline in", "age", "task", "session", "waits for", "agent")


def list_executions(
    *,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Only those that have not ended.")] = False,
    state: Annotated[ExecutionState | None, typer.Option(help="Only those in this state.")] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="SESSION", callback=session_or_none, help="Only those this session started.")
    ] = None,
    most: Annotated[
        int | None, typer.Option("--limit", min=1, max=_MOST, metavar="N", help="Only the newest; default: 1000.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List executions, oldest first."""
    if unfinished and state is not None:
        raise UsageError("choose one of --unfinished and --state")
    wishes = {"unfinished_only": unfinished or None, "state": state, "parent": parent, "limit": most}
    query = {name: str(wish) for name, wish in wishes.items() if wish is not None}
    with client() as server:
        answer = server.get("/executions", **query)
    if as_json:
        print_json(answer)
        return
    if answer["trouble"]:
        typer.echo(f"mcp-agent: executions wait: {answer['trouble']}", err=True)
    executions = cast("list[Json]", answer["executions"])
    if executions:
        print_table([_row(one) for one in executions], whole=("execution", "state"), spare=_SPARE)
    else:
        typer.echo("no executions")


def list_agents(*, as_json: AsJson = False) -> None:
    """List the configured agents, which --agent names."""
    with client() as server:
        answer = server.get("/agents")
    agents = cast("list[Json]", answer["agents"])
    if as_json:
        print_json(answer)
    elif agents:
        rows = [_agent_row(agent) for agent in agents]
        print_table(rows, whole=("agent", "provider"), spare=("deadline", "directory", "tools", "model"))
    else:
        typer.echo(f"no agents are configured ([agents.<name>] in config.toml); {AFTER_A_CHANGE}")


def _row(execution: Json) -> Row:
    return {
        "execution": str(execution["execution_id"]),
        "agent": str(execution["agent"] or execution["provider"]),
        "state": str(execution["state"]),
        "waits for": harmless(str(execution["detail"] or "-")),
        "age": ago(execution["created_at"]),
        "deadline in": _left(execution) or "-",
        "session": str(execution["session_id"] or "-"),
        "parent": str(execution["parent_session"] or "-"),
        "task": task_told(execution, longest=_SHOWN),
    }


def _agent_row(agent: Json) -> Row:
    tools = cast("list[str] | None", agent["tools"])
    directory = str(agent["working_directory"] or "its caller's")
    return {
        "agent": str(agent["name"]),
        "provider": str(agent["provider"]),
        "model": str(agent["model"] or "-"),
        "tools": "all" if tools is None else ", ".join(tools) or "none",
        "directory": f"a worktree of {directory}" if agent["worktree"] else directory,
        "deadline": span(agent["deadline_seconds"]),
    }


def task_told(execution: Json, *, longest: int) -> str:
    """The beginning of what its caller said, in one line."""
    text = harmless(" ".join(str(execution["task"]).split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _left(execution: Json) -> str | None:
    """How much time an execution has that has not ended; None without a deadline."""
    at = cast("float | None", execution["deadline_at"])
    return None if at is None or execution["ended_at"] is not None else span(at - time.time())
