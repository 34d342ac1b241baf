"""What a server does for its store meanwhile: writes what waits, and forgets what is old."""

import logging
import sqlite3
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.database import transaction
from mcp_agent.errors import StoreUnusable
from mcp_agent.sessions.store import file as sql
from mcp_agent.sessions.store.file import STORE
from mcp_agent.sessions.store.store import TRY_AGAIN_AFTER, SessionStore

EVENTS_KEPT_FOR = timedelta(hours=24)
MOST_EVENTS = 100_000
TURNS_KEPT_FOR = timedelta(days=30)
"""Turns that ended, and messages that were delivered or given up."""

WRITTEN_WITHIN = timedelta(milliseconds=10)
"""Events that come together are written together."""
PRUNED_EVERY = timedelta(minutes=10)
PRUNED_AT_ONCE = 500
"""How much is forgotten before other writers get their turn."""

log = logging.getLogger(__name__)


async def keep(store: SessionStore) -> None:
    """Write what waits to be written soon, and forget what is old. Ends when it is cancelled."""
    async with anyio.create_task_group() as group:
        group.start_soon(_prune_again_and_again, store)
        while True:
            await store.waiting.wait()
            await anyio.sleep(WRITTEN_WITHIN.total_seconds())
            if not store.write():
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())


async def _prune_again_and_again(store: SessionStore) -> None:
    while True:
        try:
            await anyio.to_thread.run_sync(prune, store.path, store.clock())
        except StoreUnusable as error:
            log.warning("nothing was pruned: %s", error)
        await anyio.sleep(PRUNED_EVERY.total_seconds())


def prune(path: Path, now: float) -> None:
    """Forget old events, turns and messages. Blocks; raises `StoreUnusable`.

    Other writers get their turns in between. Readers of events that were forgotten are told so.
    """
    connection = STORE.open_for_writing(path)
    try:
        with STORE.translated(path):
            while through := _old_events(connection, now):
                _in_one(connection, (sql.RAISE_FLOORS, (through,)), (sql.DELETE_EVENTS, (through,)))
            before = (now - TURNS_KEPT_FOR.total_seconds(), PRUNED_AT_ONCE)
            while _in_one(connection, (sql.DELETE_TURNS, before)) or _in_one(connection, (sql.DELETE_MESSAGES, before)):
                pass
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    finally:
        connection.close()


def _old_events(connection: sqlite3.Connection, now: float) -> int:
    """The cursor through which the next few old events go; 0 when there are none."""
    oldest = connection.execute(sql.OLDEST_EVENTS, (PRUNED_AT_ONCE,)).fetchall()
    surplus = connection.execute(sql.COUNT_EVENTS).fetchone()[0] - MOST_EVENTS
    through = 0
    for place, (seq, at) in enumerate(oldest):
        if at >= now - EVENTS_KEPT_FOR.total_seconds() and place >= surplus:
            break
        through = seq
    return through


def _in_one(connection: sqlite3.Connection, *statements: tuple[str, tuple[object, ...]]) -> int:
    """How many rows the last one changed."""
    with transaction(connection):
        changed = [connection.execute(statement, values).rowcount for statement, values in statements]
    return changed[-1]
