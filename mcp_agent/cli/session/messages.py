"""`mcp-agent session messages|withdraw`: what was sent to a session, and what waits for it."""

import re
import sys
from datetime import datetime
from typing import Annotated, cast

import typer
from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from mcp_agent.cli.context import client, print_json
from mcp_agent.cli.options import AsJson
from mcp_agent.cli.session.named import SessionId
from mcp_agent.errors import UnknownMessage
from mcp_agent.server.client import Json

_PIPED_WIDTH = 500
"""No cell of a table that a program reads is cut or folded."""
_SHOWN = 60
_MESSAGE_ID = re.compile(r"m-[0-9a-f]{1,40}")


def messages(session: SessionId, *, as_json: AsJson = False) -> None:
    """List the messages of a session, oldest first: those that wait, and what became of the others."""
    with client() as server:
        found = server.get(f"/sessions/{session}/messages")
    if as_json:
        print_json(found)
        return
    rows = cast("list[Json]", found["messages"])
    if not rows:
        typer.echo("no messages")
        return
    table = Table(Column("message", no_wrap=True), "sent", "state", "turn", "why", "text", box=box.SIMPLE_HEAD)
    for row in rows:
        sent = datetime.fromtimestamp(cast("float", row["created_at"])).astimezone()
        why = Text(str(row["waits_for"] or row["reason"] or ""))
        state, turn = str(row["state"]), str(row["turn_id"] or "")
        table.add_row(str(row["id"]), f"{sent:%H:%M:%S}", state, turn, why, _short(row))
    Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH).print(table)


def withdraw(
    session: SessionId,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="Its id, from `session messages`.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Take a message back that waits still."""
    if not _MESSAGE_ID.fullmatch(message):
        raise UnknownMessage(session, message if message.isprintable() else ascii(message))
    with client() as server:
        done = server.delete(f"/sessions/{session}/messages/{message}")
    if as_json:
        print_json(done)
    else:
        typer.echo(f"withdrawn {done['id']}")


def _short(row: Json) -> Text:
    """One line of the text, as far as it fits; nothing in it is markup."""
    line = " ".join(str(row["text"]).split())
    return Text(line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…")
