"""Asking a provider's CLI for its version."""

import subprocess
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.sessions.environment import SESSION_MARK
from mcp_agent.sessions.live import LiveSession

ANSWERS_WITHIN = timedelta(seconds=20)


async def version_of(session: LiveSession, executable: Path) -> str | None:
    """What `--version` says; None when it says nothing that the adapter knows, or nothing in time.

    Marked as the session's, so that it ends with it.
    """
    try:
        with anyio.move_on_after(ANSWERS_WITHIN.total_seconds()):
            done = await anyio.run_process(
                [str(executable), "--version"],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                env={**session.record.shell_environment, SESSION_MARK: session.id},
            )
            return session.adapter.parse_version(done.stdout.decode("utf-8", "replace"))
    except OSError:
        return None
    return None
