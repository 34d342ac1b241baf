"""`mcp-agent executions wait`: the end of an execution, and its final answer."""

import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import timedelta

import typer

from mcp_agent.cli.away import is_away, next_server, was_stopped
from mcp_agent.cli.context import client, print_json, told_as_well
from mcp_agent.cli.executions.named import ExecutionId
from mcp_agent.cli.options import AsJson, WaitTimeout, wait_limit
from mcp_agent.cli.stopping import Left
from mcp_agent.errors import ExecutionEnded, ExecutionGoesOn, Limited, LoginInvalid, McpAgentError
from mcp_agent.server.client import Client, Json


def wait(execution: ExecutionId, *, timeout: WaitTimeout = "1h", as_json: AsJson = False) -> None:
    """Wait until an execution has ended, and print its final answer.

    When the time passes first the exit code is 124, and the execution goes on. It outlives restarts of the server.
    """
    limit = wait_limit(timeout)
    with goes_on(execution), client() as server:
        print_end(server, execution, limit=limit, as_json=as_json)


@contextmanager
def goes_on(execution_id: str) -> Generator[None]:
    """Whoever leaves the command within is told that the execution goes on."""
    try:
        yield
    except Left as left:
        with suppress(OSError, ValueError):
            again = f"`mcp-agent executions wait {execution_id}` waits again"
            typer.echo(f"mcp-agent: stopped waiting; execution {execution_id} goes on: {again}", err=True)
        raise typer.Exit(int(str(left.code))) from left


def print_end(server: Client, execution_id: str, *, limit: timedelta, as_json: bool) -> None:
    """Print how an execution ended, once it has, and leave with what it is worth."""
    found = _end(server, execution_id, limit)
    problem = _problem(found, limit)
    if as_json:
        print_json(found)
        if problem is not None:
            told_as_well(problem)
    elif problem is not None:
        raise problem
    else:
        typer.echo(str(found["final_text"]))


def _end(server: Client, execution_id: str, limit: timedelta) -> Json:
    """The execution once it has ended, or as it is when the limit has passed.

    Each time that it comes to wait for somebody's answer, standard error says so once. A server that died is started
    again; of one that somebody stopped, the successor is waited for.
    """
    until_seconds, needed = time.monotonic() + limit.total_seconds(), False
    while True:
        left_seconds = max(0.0, until_seconds - time.monotonic())
        query = f"wait_seconds={left_seconds:f}&needs_person={str(needed).lower()}"
        try:
            found = server.wait(f"/executions/{execution_id}?{query}")
        except McpAgentError as error:
            if not is_away(error):
                raise
            server = next_server(until_seconds=until_seconds) if was_stopped(error) else client()
            continue
        if found["ended_at"] is not None or time.monotonic() >= until_seconds:
            return found
        if found["needs_person"] and not needed:
            _tell_waiting(found)
        needed = bool(found["needs_person"])


def _tell_waiting(execution: Json) -> None:
    there = f"`mcp-agent session attach {execution['session_id']}` leads to it"
    typer.echo(f"mcp-agent: execution {execution['execution_id']} waits: {execution['detail']}; {there}", err=True)


def _problem(execution: Json, limit: timedelta) -> McpAgentError | None:
    """What to tell somebody who wanted its answer; None when there is one."""
    execution_id, state, reason = (str(execution[fact]) for fact in ("execution_id", "state", "reason"))
    if execution["ended_at"] is None:
        return ExecutionGoesOn(execution_id, limit, state=state, detail=str(execution["detail"]))
    match state, execution["cause"]:
        case "succeeded", _:
            return None
        case "failed", "login":
            return LoginInvalid(f"execution {execution_id}: the provider refused the login: {reason}")
        case "failed", "limited":
            return Limited(f"execution {execution_id}: the provider does not answer for now: {reason}")
        case _:
            return ExecutionEnded(execution_id, state, reason)
