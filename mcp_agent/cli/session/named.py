"""How a session is named on the command line: by its id or by the name that it was given."""

import re
from typing import Annotated

import typer

from mcp_agent.errors import UnknownSession
from mcp_agent.sessions.names import check_name, is_name

_SESSION_ID = re.compile(r"s-[0-9a-f]{1,40}")
_SHOWN = 60


def session_reference(text: str) -> str:
    """The text itself. It will stand in a path of the server's, so nothing but an id or a name may pass.

    Raises `UnknownSession`.
    """
    if not _SESSION_ID.fullmatch(text) and not is_name(text):
        shown = text[:_SHOWN]
        raise UnknownSession(shown if shown.isprintable() and shown else ascii(shown))
    return text


def _references(texts: list[str] | None) -> list[str]:
    return [session_reference(text) for text in texts or []]


def _new_name(text: str | None) -> str | None:
    return None if text is None else check_name(text)


_HELP = "Its id or its name."
SessionId = Annotated[str, typer.Argument(metavar="SESSION", callback=session_reference, help=_HELP)]
SessionIds = Annotated[
    list[str] | None, typer.Argument(metavar="[SESSION]...", callback=_references, help="Their ids or names.")
]
NewName = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", callback=_new_name, help="What you call it; commands take it for the id."),
]
