"""Who may type into a session's pane: one of us at a time, in this process and in every other one.

Across processes it is a lock on the session's directory: it needs no file, and ends with its holder.
"""

import fcntl
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.errors import KeyboardTaken, SessionEnded
from mcp_agent.sessions.live import LiveSession

OTHERS_WITHIN = timedelta(seconds=40)
"""Longer than any transaction of another process, clearing a long draft included."""
_FIRST_LOOK = timedelta(milliseconds=5)
_LOOK_EVERY = timedelta(milliseconds=100)


@asynccontextmanager
async def keyboard(session: LiveSession) -> AsyncGenerator[None]:
    """Hold the pane's keyboard. Raises `KeyboardTaken` when another process of ours does not let go of it."""
    async with session.input_lock:
        descriptor = _open(session)
        try:
            await _lock(session.id, descriptor)
            yield
        finally:
            os.close(descriptor)


def _open(session: LiveSession) -> int:
    try:
        return os.open(directory_of(session), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise SessionEnded(session.id, session.over or "its directory is gone") from error


def directory_of(session: LiveSession) -> Path:
    return session.spool.directory.parent


async def _lock(session_id: str, descriptor: int) -> None:
    pause_seconds = _FIRST_LOOK.total_seconds()
    with anyio.move_on_after(OTHERS_WITHIN.total_seconds()):
        while not _try(descriptor):
            await anyio.sleep(pause_seconds)
            pause_seconds = min(pause_seconds * 2, _LOOK_EVERY.total_seconds())
        return
    raise KeyboardTaken(session_id, OTHERS_WITHIN)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
