"""`mcp-agent session events`: what happened to a session, and what happens."""

import json
import signal
import unicodedata
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Annotated, cast

import typer

from mcp_agent.cli.away import is_away, next_server
from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.session.named import SessionId
from mcp_agent.cli.stopping import Left
from mcp_agent.errors import McpAgentError
from mcp_agent.server.client import Client, Json

NEWEST = 2**63 - 1
"""What no cursor exceeds."""
ONE_WAIT = timedelta(minutes=1)


def events(
    session: SessionId,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on printing them as they come.")] = False,
    after: Annotated[
        int, typer.Option("--after", min=0, max=NEWEST, metavar="CURSOR", help="Only events after this one.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Print what happened to a session, oldest first; what is older than a day is not kept.

    With --follow, --json prints one object a line. It outlives restarts of the server, and ends with the session.
    """
    with client() as server:
        if not follow:
            _print_kept(server, session, after, as_json=as_json)
            return
        try:
            for page in _followed(server, session, after):
                _print(page, as_json=as_json)
        except Left as left:
            if left.number != signal.SIGINT:
                raise


def _print_kept(server: Client, session: str, after: int, *, as_json: bool) -> None:
    pages = [*_kept(server, session, after)]
    if as_json:
        found = [event for page in pages for event in _events_of(page)]
        print_json({"events": found, "next": pages[-1]["next"], "gap": any(page["gap"] for page in pages)})
        return
    for page in pages:
        _print(page, as_json=False)


def _kept(server: Client, session: str, after: int) -> Iterator[Json]:
    while True:
        page = server.get(f"/sessions/{session}/events", after=str(after))
        yield page
        if not page["events"]:
            return
        after = int(str(page["next"]))


def _followed(server: Client, session: str, after: int) -> Iterator[Json]:
    while True:
        try:
            page = server.wait(f"/sessions/{session}/events?after={after}&wait_seconds={ONE_WAIT.total_seconds():g}")
        except McpAgentError as error:
            if not is_away(error):
                raise
            server = next_server()
            continue
        yield page
        if page["over"]:
            return
        after = int(str(page["next"]))


def _print(page: Json, *, as_json: bool) -> None:
    if page["gap"]:
        typer.echo("earlier events are not kept any more", err=True)
    for event in _events_of(page):
        typer.echo(json.dumps(event, ensure_ascii=False) if as_json else _line(event))


def _events_of(page: Json) -> list[Json]:
    return cast("list[Json]", page["events"])


def _line(event: Json) -> str:
    facts = {name: value for name, value in cast("Json", event["facts"]).items() if value is not None}
    told = " ".join(f"{name}={_word(_readable(name, value))}" for name, value in facts.items())
    return f"{event['seq']:>6}  {_time(event['at'])}  {event['kind']:<18}  {told}".rstrip()


def _readable(name: str, value: object) -> object:
    """Times as people write them; other numbers without digits that nobody reads."""
    if not isinstance(value, float):
        return value
    return _time(value) if name == "at" or name.endswith("_at") else f"{value:.3f}".rstrip("0").rstrip(".")


def _time(at: object) -> str:
    """A wall-clock epoch in local time, with its date and its zone."""
    return datetime.fromtimestamp(cast("float", at)).astimezone().isoformat(timespec="seconds")


def _word(value: object) -> str:
    text = str(value)
    return text if text and text.isprintable() and " " not in text else json.dumps(text, ensure_ascii=not _shows(text))


def _shows(text: str) -> bool:
    """Whether a terminal takes nothing in it for a command."""
    return not any(unicodedata.category(char) == "Cc" for char in text)
