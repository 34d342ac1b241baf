"""Ending a session: the whole process tree, then the pane, then what only a running session needs."""

import logging
from datetime import timedelta

from mcp_agent.errors import PaneGone, TmuxError
from mcp_agent.processes import ProcessIdentity, marked, with_descendants
from mcp_agent.processes.reaping import reap
from mcp_agent.sessions.environment import SESSION_MARK
from mcp_agent.sessions.live import LiveSession
from mcp_agent.tmux.terminal import Terminal

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


async def close_pane(session: LiveSession) -> None:
    """Close the session's pane; one that is gone is fine.

    A tmux that does not answer is logged: its panes are adopted, or swept, later.
    """
    try:
        await session.terminal.close(session.pane)
    except PaneGone:
        return
    except TmuxError as error:
        log.warning("session %s: its pane was not closed: %s", session.id, error)


async def end_unfinished(terminal: Terminal, session_id: str) -> None:
    """End a launch that was broken off: nobody knows whether its pane came to be."""
    await end_processes(session_id)
    try:
        for found in await terminal.panes():
            if found.tags.get("session") == session_id:
                await terminal.close(found.pane)
    except TmuxError as error:
        log.warning("session %s: a pane of it may be left: %s", session_id, error)
