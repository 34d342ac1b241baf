"""`mcp-agent session attach`: the CLI itself, in the caller's own terminal."""

import os
import shutil
import sys
from collections.abc import Mapping
from typing import Annotated, NoReturn, cast

import typer

from mcp_agent.cli.context import client, state_directory
from mcp_agent.cli.session.named import SessionId
from mcp_agent.errors import NoTerminal, SessionEnded, TmuxMissing
from mcp_agent.server.client import Json

SMALLEST = os.terminal_size((40, 10))
"""A CLI is not made to draw itself in less; a smaller terminal sees a part of it."""

_WITHOUT = ("TMUX", "TMUX_PANE")
"""tmux refuses to start inside another one while these are set."""


def attach(
    session: SessionId,
    *,
    read_only: Annotated[bool, typer.Option("--read-only", "-r", help="Look only: no key reaches the CLI.")] = False,
) -> None:
    """Attach to a session as a person; C-b d leaves it as it was.

    While you are attached its pane has the size of your terminal.
    """
    _check_terminal(session, os.environ)
    executable = shutil.which("tmux")
    if executable is None:
        raise TmuxMissing
    with client() as server:
        found = server.get(f"/sessions/{session}")
    if found["attach"] is None:
        how = f"{found['state']}; `mcp-agent session resume {found['id']}` goes on with its conversation"
        raise SessionEnded(str(found["id"]), how)
    _become_tmux(executable, str(cast("Json", found["pane"])["tmux_session_id"]), read_only=read_only)


def _check_terminal(session: str, environ: Mapping[str, str]) -> None:
    """Raises `NoTerminal`; tmux itself would say that some `open terminal failed`."""
    for name, stream in (("input", sys.stdin), ("output", sys.stdout)):
        if not stream or not stream.isatty():
            raise NoTerminal(f"standard {name} is not one", session)
    if environ.get("TERM") in {None, "", "dumb"}:
        raise NoTerminal("TERM says that it cannot move a cursor", session)


def _become_tmux(executable: str, target: str, *, read_only: bool) -> NoReturn:
    """Nothing of ours stays in between: keys, signals and the exit status are tmux's own."""
    size = os.get_terminal_size(sys.stdout.fileno())
    small = size.columns < SMALLEST.columns or size.lines < SMALLEST.lines
    flags = [*(["read-only"] if read_only else []), *(["ignore-size"] if small or read_only else [])]
    chosen = ["-f", ",".join(flags)] if flags else []
    socket = str(state_directory().tmux_socket)
    argv = [executable, "-u", "-N", "-f", "/dev/null", "-S", socket, "attach-session", *chosen, "-t", target]
    environment = {name: value for name, value in os.environ.items() if name not in _WITHOUT}
    os.execve(executable, argv, environment)
