"""The end of sessions that no server looks after: those not adopted yet, left alone, or whose record is damaged."""

import logging
from dataclasses import replace

import anyio
import anyio.to_thread

from mcp_agent.sessions.closing import end_processes, processes_of
from mcp_agent.sessions.manager import SessionManager
from mcp_agent.sessions.record import load_record, load_records, save_record, unreadable_sessions
from mcp_agent.state import StateDirectory

log = logging.getLogger(__name__)


async def end_unadopted(sessions: SessionManager, state: StateDirectory) -> tuple[int, list[str]]:
    """End them by their processes' mark, which needs no tmux: how many lived, and the ids of those that still do.

    Each is on record as stopped first, so that the next server puts away what is left of it.
    """
    ended, alive = 0, list[str]()

    async def end(session_id: str) -> None:
        nonlocal ended
        await anyio.to_thread.run_sync(_mark_stopped, state, session_id)
        if not await anyio.to_thread.run_sync(processes_of, session_id):
            return
        await end_processes(session_id)
        if await anyio.to_thread.run_sync(processes_of, session_id):
            alive.append(session_id)
        else:
            ended += 1

    async with anyio.create_task_group() as group:
        for session_id in await anyio.to_thread.run_sync(_unadopted, sessions, state):
            group.start_soon(end, session_id)
    await sessions.stop_all()  # one that was adopted meanwhile
    return ended, sorted(alive)


def _unadopted(sessions: SessionManager, state: StateDirectory) -> list[str]:
    ours = {session.id for session in sessions.all()}
    living = [record.id for record in load_records(state) if not record.stopped]
    return [each for each in (*living, *unreadable_sessions(state)) if each not in ours]


def _mark_stopped(state: StateDirectory, session_id: str) -> None:
    record = load_record(state, session_id)
    if record is not None:
        try:
            save_record(state, replace(record, stopped=True))
        except OSError:
            log.exception("session %s: its record could not be written", session_id)
