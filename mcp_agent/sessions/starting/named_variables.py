"""Variables that somebody names for one session, `NAME` or `NAME=VALUE`, checked before anything is started."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from mcp_agent.errors import BadVariable
from mcp_agent.sessions.environment import SESSION_MARK
from mcp_agent.sessions.record import SessionRecord

LONGEST_VALUE = 64 * 1024
"""Bytes; systems refuse to run a program with a variable that is twice as long."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOT_FOR_SESSIONS = frozenset({SESSION_MARK, "TERM", "TMUX", "TMUX_PANE"})


def read_variables(words: Iterable[str], caller: Mapping[str, str]) -> dict[str, str]:
    """The variables that these words name, with their values; the last word about a variable counts.

    A name alone takes the caller's value. Raises `BadVariable`, which repeats no value.
    """
    named: dict[str, str] = {}
    for word in words:
        name, given, value = word.partition("=")
        if not given and name not in caller:
            raise BadVariable(name, "is not set here; write NAME=VALUE to set it")
        named[name] = value if given else caller[name]
    check_variables(named)
    return named


def check_variables(named: Mapping[str, str]) -> None:
    """Raises `BadVariable` for what no session can have."""
    for name, value in named.items():
        if problem := _problem(name, value):
            raise BadVariable(name, problem)


def without_named(record: SessionRecord) -> SessionRecord:
    """The record of a session that is over: values that somebody named for it are kept no longer."""
    named = record.options.named_variables if record.options else frozenset()
    kept = {name: value for name, value in record.shell_environment.items() if name not in named}
    return replace(record, shell_environment=kept)


def _problem(name: str, value: str) -> str | None:
    if not _NAME.fullmatch(name):
        return "is no name of a variable: letters, digits and _ only, and no digit first"
    if name in _NOT_FOR_SESSIONS:
        return "is set by mcp-agent itself in every session"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return "has a value that is not valid UTF-8"
    if "\0" in value:
        return "has a value with a NUL in it"
    return f"has a value of {size} bytes; {LONGEST_VALUE} are allowed" if size > LONGEST_VALUE else None
