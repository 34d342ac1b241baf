"""Whether the bridge of a session lives: its CLI says nothing of it, and goes on without its tools."""

import logging
from datetime import timedelta
from pathlib import Path

import anyio.to_thread
import psutil

from mcp_agent.bridge import BRIDGE_PROGRAM
from mcp_agent.processes import ProcessIdentity, descendants, identify
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.sessions.live import LiveSession

log = logging.getLogger(__name__)

LONGEST = timedelta(days=365)
ENDS_TOGETHER_WITHIN = timedelta(seconds=2)
"""A CLI that ends takes its bridge along, and one that restarts it has another one by then."""


async def watch_bridge(session: LiveSession, bridge_file: Path) -> None:
    """Keep `session.bridge_gone` true to the facts until the CLI in its pane is over.

    A CLI that starts its bridge out of our sight is not watched.
    """
    pane = session.record.pane

    def is_over() -> bool:
        return session.over is not None or session.record.pane != pane

    while pane is not None and not is_over():
        up = await session.wait_until(lambda: is_over() or _is_up(session), limit=LONGEST)
        if not up or is_over():
            return
        bridge = await anyio.to_thread.run_sync(_bridge_below, pane.pid, bridge_file)
        if bridge is None:
            return
        await wait_gone([bridge], limit=LONGEST)
        if await session.wait_until(is_over, limit=ENDS_TOGETHER_WITHIN):
            return
        if await anyio.to_thread.run_sync(_bridge_below, pane.pid, bridge_file) is None:
            log.warning("session %s: its bridge has ended, and its CLI goes on without tools", session.id)
            session.bridge_is_gone()


def _is_up(session: LiveSession) -> bool:
    return session.status.bridge_up and not session.bridge_gone


def _bridge_below(pid: int, bridge_file: Path) -> ProcessIdentity | None:
    """The bridge that this CLI started."""
    cli = identify(pid)
    below = descendants(cli) if cli else []
    return next((process for process in below if _is_bridge(process.pid, bridge_file)), None)


def _is_bridge(pid: int, bridge_file: Path) -> bool:
    """One that is told no file finds its session by its parents, and this CLI is one of them."""
    try:
        argv = psutil.Process(pid).cmdline()
    except psutil.Error:
        return False
    return str(BRIDGE_PROGRAM) in argv and (str(bridge_file) in argv or argv[-1] == str(BRIDGE_PROGRAM))
