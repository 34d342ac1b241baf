"""`mcp-agent session stop`."""

from collections.abc import Sequence
from typing import Annotated, cast

import typer

from mcp_agent.cli.context import client, error_facts, print_json, told_as_well
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.phrases import counted, number_of
from mcp_agent.cli.session.named import SessionIds
from mcp_agent.errors import McpAgentError, UsageError
from mcp_agent.server.client import Client, Json

_FACTS = ("session_id", "name", "state", "cancelled_calls")
_CASCADE = "Also cancel the executions that they started, which go on otherwise."


def stop(
    sessions: SessionIds = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Every session.")] = False,
    cascade: Annotated[bool, typer.Option("--cascade", help=_CASCADE)] = False,
    as_json: AsJson = False,
) -> None:
    """Stop sessions: their tool calls, their CLIs and all that those started, their panes."""
    if every == bool(sessions):
        raise UsageError("name the sessions to stop, or say --all")
    with client() as server:
        done = _stop_all(server, cascade=cascade) if every else _stop_each(server, sessions or [], cascade=cascade)
    stopped, executions, failures = done
    if as_json:
        answers = [{fact: answer[fact] for fact in _FACTS} for answer in stopped]
        below = {"executions": executions, "executions_cancelled": cascade}
        print_json({"sessions": answers, **below, **_error(failures)})
    elif stopped or every:
        told = _told(stopped, one=not every and len(stopped) == 1 and not failures)
        typer.echo(told + _told_of_executions(executions, cancelled=cascade))
    if failures:
        told_as_well(*failures)


Done = tuple[list[Json], int, list[McpAgentError]]
"""What was stopped, how many executions go on or were cancelled, and all that went wrong."""


def _stop_each(server: Client, sessions: list[str], *, cascade: bool) -> Done:
    """Each session once. One wrong name spares no other session."""
    stopped: dict[str, Json] = {}
    failures = []
    for session in dict.fromkeys(sessions):
        try:
            answer = server.post(f"/sessions/{session}/stop{'?cascade=true' if cascade else ''}", waits=True)
        except McpAgentError as error:
            failures.append(error)
        else:
            stopped.setdefault(str(answer["session_id"]), answer)
    return list(stopped.values()), sum(cast("int", answer["executions"]) for answer in stopped.values()), failures


def _stop_all(server: Client, *, cascade: bool) -> Done:
    done = server.post(f"/server/sessions/stop?cascade={str(cascade).lower()}", waits=True)
    return cast("list[Json]", done["sessions"]), cast("int", done["executions"]), []


def _error(failures: Sequence[McpAgentError]) -> Json:
    return {"error": error_facts(failures[0])} if failures else {}


def _told(stopped: Sequence[Json], *, one: bool) -> str:
    """What was done, in words; of sessions that were stopped before, that nothing was."""
    already = sum(bool(answer.get("already_stopped")) for answer in stopped)
    calls = f"{counted(sum(cast('int', answer['cancelled_calls']) for answer in stopped), 'tool call')} cancelled"
    if one:
        return "was stopped already" if already else f"stopped; {calls}"
    before = f"; {counted(already, 'session')} stopped already" if already else ""
    return f"{counted(len(stopped) - already, 'session')} stopped; {calls}{before}"


def _told_of_executions(count: int, *, cancelled: bool) -> str:
    if not count:
        return ""
    if cancelled:
        return f"; {counted(count, 'execution')} cancelled"
    return f"; {number_of(count, 'execution')} {'goes' if count == 1 else 'go'} on (see `mcp-agent executions list`)"
