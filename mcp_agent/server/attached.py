"""Which sessions somebody looks at in a terminal of their own."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import anyio

from mcp_agent.errors import TmuxError
from mcp_agent.sessions.live import LiveSession

TOLD_WITHIN = timedelta(seconds=1)
"""Nobody who only looks at sessions waits longer for a tmux that is slow."""


async def attached_sessions(sessions: Sequence[LiveSession]) -> frozenset[str]:
    """Their ids; none when the terminal does not tell. All sessions of a server share one terminal."""
    terminal = next((session.opened for session in sessions if session.over is None and session.opened), None)
    if terminal is not None:
        with suppress(TmuxError), anyio.move_on_after(TOLD_WITHIN.total_seconds()):
            return frozenset(pane.tags.get("session", "") for pane in await terminal.panes() if pane.attached)
    return frozenset()
