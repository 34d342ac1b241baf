"""How an execution is named on the command line."""

import re
from typing import Annotated

import typer

from mcp_agent.cli.session.named import session_reference
from mcp_agent.errors import UnknownExecution

_EXECUTION_ID = re.compile(r"x-[0-9a-f]{1,40}")


def execution_reference(text: str) -> str:
    """The text itself, which will stand in a path of the server's. Raises `UnknownExecution` for what is no id."""
    if not _EXECUTION_ID.fullmatch(text):
        raise UnknownExecution(text if text.isprintable() and text else ascii(text))
    return text


def session_or_none(text: str | None) -> str | None:
    """An option's session, by id or name. Raises `UnknownSession` for what can be neither."""
    return None if text is None else session_reference(text)


ExecutionId = Annotated[
    str, typer.Argument(metavar="EXECUTION", callback=execution_reference, help="Its id, such as x-4f1c09ab3e.")
]
