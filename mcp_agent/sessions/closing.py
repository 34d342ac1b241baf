"""Ending a session: the whole process tree, then the pane, then what only a running session needs."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
from anyio.abc import TaskGroup

from mcp_agent.errors import TmuxError
from mcp_agent.processes import CALL_MARK, ProcessIdentity, marked, with_descendants, without_mark
from mcp_agent.processes.reaping import reap
from mcp_agent.sessions.environment import SESSION_MARK
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.tmux.terminal import PaneRef, Terminal

log = logging.getLogger(__name__)

GRACE = timedelta(seconds=5)
"""How long a CLI may take to put its own things away after it was told to end."""

CLOSE_AGAIN_AFTER = timedelta(seconds=2)


def processes_of(session_id: str) -> list[ProcessIdentity]:
    """The CLI, all below it, and all that carries the session's mark although its parents are gone.

    Found by the mark alone: a recorded pid may be somebody else's by now.
    """
    return with_descendants(marked(SESSION_MARK, session_id))


async def end_processes(session_id: str) -> None:
    survivors = await reap(lambda: processes_of(session_id), grace=GRACE)
    if survivors:
        log.error("session %s: processes that could not be ended: %s", session_id, survivors)


async def end_cli(session_id: str) -> None:
    """End what is left of the session's CLI. Commands that outlived it as calls of their own go on."""
    survivors = await reap(lambda: without_mark(marked(SESSION_MARK, session_id), CALL_MARK), grace=GRACE)
    if survivors:
        log.error("session %s: processes that could not be ended: %s", session_id, survivors)


async def close_panes(terminal: Terminal | None, session_id: str, *, but: PaneRef | None = None) -> bool:
    """Close every pane that carries the session's tag, except for this one.

    Whether that is done: a tmux that does not answer may still have one. Without a terminal there is none.
    """
    if terminal is None:
        return True
    try:
        for found in await terminal.panes():
            if found.tags.get("session") == session_id and found.pane != but:
                await terminal.close(found.pane)
    except TmuxError as error:
        log.warning("session %s: a pane of it may be left: %s", session_id, error)
        return False
    return True


@dataclass(slots=True)
class PaneCloser:
    """Closes the panes of sessions that are over and gives their terminal back.

    While tmux does not answer that goes on in the background; the next server finds what is left by its record.
    """

    terminals: TerminalHost
    owner: TaskGroup
    pending: set[str] = field(default_factory=set)
    """Sessions whose panes may still be there."""

    async def close(self, terminal: Terminal | None, session_id: str, *, then: Callable[[], None]) -> None:
        """`then` puts away what is on disk, once the panes are certainly gone."""
        self.pending.add(session_id)
        if await close_panes(terminal, session_id):
            await self._finish(terminal, session_id, then)
        else:
            self.owner.start_soon(self._close_later, terminal, session_id, then)

    async def _close_later(self, terminal: Terminal | None, session_id: str, then: Callable[[], None]) -> None:
        while not await close_panes(terminal, session_id):  # noqa: ASYNC110 -- another program's recovery tells nothing
            await anyio.sleep(CLOSE_AGAIN_AFTER.total_seconds())
        await self._finish(terminal, session_id, then)

    async def _finish(self, terminal: Terminal | None, session_id: str, then: Callable[[], None]) -> None:
        self.pending.discard(session_id)
        then()
        if terminal is not None:
            await self.terminals.release()
