"""`mcp-agent executions show|logs`."""

from collections.abc import Iterator
from datetime import datetime
from typing import cast

import typer

from mcp_agent.cli.calls import print_calls
from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.executions.listing import task_told
from mcp_agent.cli.executions.named import ExecutionId
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.phrases import span
from mcp_agent.cli.session.history import harmless, print_turns, usage_told
from mcp_agent.cli.session.looking import squeezed
from mcp_agent.server.client import Json

_SHOWN = 200
_DELIVERY = {
    "pending": "its parent is told when it can be",
    "claimed": "its parent is told when it can be",
    "sent": "its parent is told: the result stands in its queue, see `mcp-agent session messages {parent}`",
    "told": "its parent has the result as the answer of a tool call",
    "refused": "its parent was stopped: nobody is told",
}


def show(execution: ExecutionId, *, as_json: AsJson = False) -> None:
    """Show all that is known of an execution, with its final answer."""
    with client() as server:
        found = server.get(f"/executions/{execution}")
    if as_json:
        print_json(found)
        return
    typer.echo(_headline(found))
    for title, text in _facts(found):
        typer.echo(f"{title + ':':<11}{harmless(text)}")
    if found["final_text"]:
        typer.echo(f"\n{harmless(str(found['final_text']))}")


def logs(execution: ExecutionId, *, as_json: AsJson = False) -> None:
    """Show what its session did and shows: turns, tool calls, screen.

    While it runs, `mcp-agent session events SESSION --follow` tells more as it comes.
    """
    with client() as server:
        found = server.get(f"/executions/{execution}/logs")
    if as_json:
        print_json(found)
        return
    told, turns, calls = (cast("Json", found["execution"]), *_lists(found))
    typer.echo(_headline(told))
    if found["session"] is None:
        typer.echo("it has no session" + (" that is still known" if told["session_id"] else ""))
        return
    typer.echo(f"session:   {told['session_id']}\n")
    print_turns(turns)
    if calls:
        print_calls(calls)
        typer.echo()
    for line in squeezed(cast("list[str]", found["screen"])):
        typer.echo(f"  {line}".rstrip())


def _lists(found: Json) -> tuple[list[Json], list[Json]]:
    return cast("list[Json]", found["turns"]), cast("list[Json]", found["calls"])


def _headline(execution: Json) -> str:
    agent = f"{execution['agent']} ({execution['provider']})" if execution["agent"] else str(execution["provider"])
    detail = f": {execution['detail']}" if execution["detail"] else ""
    return f"{execution['execution_id']}  {agent}  {execution['state']}{harmless(detail)}"


def _facts(execution: Json) -> Iterator[tuple[str, str]]:
    """What is known, each by its title."""
    yield "task", task_told(execution, longest=_SHOWN)
    yield "directory", str(execution["working_directory"])
    yield "asked for", f"{_time(execution['created_at'])} by {_caller(execution)}"
    if execution["started_at"]:
        yield "began", _time(execution["started_at"])
    if execution["deadline_at"]:
        yield "deadline", _time(execution["deadline_at"])
    if execution["session_id"]:
        yield "session", str(execution["session_id"])
    if execution["ended_at"]:
        yield "ended", f"{_time(execution['ended_at'])}{_took(execution)} by {execution['ended_by']}"
        yield "reason", str(execution["reason"])
    if usage := usage_told(cast("Json | None", execution["usage"])):
        yield "usage", usage
    if delivery := _DELIVERY.get(str(execution["delivery"])):
        yield "delivery", delivery.format(parent=execution["parent_session"])


def _caller(execution: Json) -> str:
    if execution["parent_execution"]:
        return f"session {execution['parent_session']} of execution {execution['parent_execution']}"
    return f"session {execution['parent_session']}" if execution["parent_session"] else "a person"


def _took(execution: Json) -> str:
    if not execution["started_at"]:
        return ""
    return f" after {span(cast('float', execution['ended_at']) - cast('float', execution['started_at']))}"


def _time(at: object) -> str:
    return datetime.fromtimestamp(cast("float", at)).astimezone().isoformat(timespec="seconds")
