"""How a session is named on the command line."""

import re
from typing import Annotated

import typer

from mcp_agent.errors import UnknownSession

_SESSION_ID = re.compile(r"s-[0-9a-f]{1,40}")


def _session_id(text: str) -> str:
    """An id stands in a path of the server's, so nothing else may pass for one."""
    if not _SESSION_ID.fullmatch(text):
        raise UnknownSession(text[:60])
    return text


SessionId = Annotated[str, typer.Argument(metavar="SESSION", callback=_session_id)]
