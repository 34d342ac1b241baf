"""Ending a session: the whole process tree, then the pane, then what only a running session needs."""

import logging
from datetime import timedelta

from mcp_agent.errors import TmuxError
from mcp_agent.processes import ProcessIdentity, marked, with_descendants
from mcp_agent.processes.reaping import reap
from mcp_agent.sessions.environment import SESSION_MARK
from mcp_agent.tmux.terminal import PaneRef, Terminal

log = logging.getLogger(__name__)

GRACE = timedelta(seconds=5)
"""How long a CLI may take to put its own things away after it was told to end."""


def processes_of(session_id: str) -> list[ProcessIdentity]:
    """The CLI, all below it, and all that carries the session's mark although its parents are gone.

    Found by the mark alone: a recorded pid may be somebody else's by now.
    """
    return with_descendants(marked(SESSION_MARK, session_id))


async def end_processes(session_id: str) -> None:
    survivors = await reap(lambda: processes_of(session_id), grace=GRACE)
    if survivors:
        log.error("session %s: processes that could not be ended: %s", session_id, survivors)


async def close_pane(terminal: Terminal, pane: PaneRef) -> None:
    """Close the pane. A tmux that does not answer is logged: its panes are adopted, or swept, later."""
    try:
        await terminal.close(pane)
    except TmuxError as error:
        log.warning("pane %s was not closed: %s", pane.pane_id, error)
