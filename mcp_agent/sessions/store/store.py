"""What is kept of sessions on disk beside their records: turns, messages, and events with cursors.

Turns and events belong to the event loop, and nothing they do raises: a fact that the file does not take is kept in
memory and written with the next one. They are with the operating system on return, which is enough to survive the
death of every process of ours; the end of a turn is on the disk, unless the disk is slow. Messages are always on the
disk on return, and their methods may be called from any thread. `benchmarks/bench_store.py` measures all of it.
"""

import json
import logging
import sqlite3
import time
import weakref
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

import anyio

from mcp_agent.database import transaction
from mcp_agent.errors import StoreUnusable
from mcp_agent.sessions.store import file as sql
from mcp_agent.sessions.store.events import EventPage, event_of
from mcp_agent.sessions.store.file import STORE
from mcp_agent.sessions.store.messages import Message, MessageTable

FACTS_WAIT = timedelta(milliseconds=100)
"""How long the event loop waits for another process that writes; the facts are kept when it takes longer."""
SLOW_DISK = timedelta(milliseconds=5)
"""A disk that takes longer for a turn's end must not hold up the loop."""
TRY_AGAIN_AFTER = timedelta(seconds=1)
"""After an attempt that took long; until then facts are only kept."""
MOST_KEPT = 20_000
"""Facts beyond that are lost, oldest first: the memory is not the place for all that a full disk does not take."""

Statement = tuple[str, tuple[object, ...]]

log = logging.getLogger(__name__)

_ENCODER = json.JSONEncoder(default=str)


@dataclass(slots=True, eq=False, weakref_slot=True)
class SessionStore:
    """One server's store. Use it as a context: leaving it writes what is left to write."""

    path: Path
    connection: sqlite3.Connection = field(repr=False)
    message_table: MessageTable = field(repr=False)
    clock: Callable[[], float] = time.time
    unwritten: list[Statement] = field(default_factory=list)
    """Facts that the file did not take yet."""
    arrived: anyio.Event = field(default_factory=anyio.Event)
    """Set, and replaced, when events were written."""
    waiting: anyio.Event = field(default_factory=anyio.Event)
    """Set when facts wait to be written; `keeping.keep` writes them soon."""
    durable_seconds: float = 0.0
    """How long the disk took for the newest durable write."""
    lock: Lock = field(default_factory=Lock, repr=False)
    _holding: int = 0
    _durable: bool = False
    """Something that waits to be written wants to be on the disk."""
    _not_before: float = 0.0
    _troubled: bool = False

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float] = time.time) -> Self:
        """Open the file, made when it is not there. Raises `StoreUnusable`."""
        connection = STORE.open_for_writing(path)
        try:
            messages = STORE.open_for_writing(path)
        except StoreUnusable:
            connection.close()
            raise
        connection.execute(f"PRAGMA busy_timeout = {FACTS_WAIT // timedelta(milliseconds=1)}")
        messages.execute("PRAGMA synchronous = FULL")
        return cls(path, connection, MessageTable(path, messages, clock), clock)

    @classmethod
    def in_memory(cls, *, clock: Callable[[], float] = time.time) -> Self:
        """A store that ends with this process, for tests and for sessions that nobody keeps."""
        path, lock = Path(":memory:"), Lock()
        connection = sqlite3.connect(path.name, isolation_level=None, check_same_thread=False)
        for statement in STORE.schema:
            connection.execute(statement)
        store = cls(path, connection, MessageTable(path, connection, clock, lock), clock, lock=lock)
        weakref.finalize(store, connection.close)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is left to write, and let go of the file."""
        self._not_before = 0.0
        if self.unwritten and not self.write(durable=True):
            log.error("%s: %d facts of sessions are lost", self.path, len(self.unwritten))
        with self.lock:
            self.connection.close()
        self.message_table.close()

    # --- facts -------------------------------------------------------------------------------------------------------

    def tell(self, session_id: str, kind: str, /, **facts: object) -> None:
        """Something happened to a session. It is written soon, and before anything that is written at once."""
        self._keep(sql.INSERT_EVENT, session_id, self.clock(), kind, _ENCODER.encode(facts))

    def save_turn(
        self, session_id: str, turn_id: str, *, started_at: float, ended_at: float | None, facts: str
    ) -> None:
        """Keep a turn as it is now; `facts` is all of it. One that has ended waits for the disk."""
        self._keep(sql.UPSERT_TURN, turn_id, session_id, started_at, ended_at, facts)
        self.write(durable=ended_at is not None)

    def save_progress(self, session_id: str, facts: str) -> None:
        """Keep how far the session's own words were read."""
        self._keep(sql.UPSERT_PROGRESS, session_id, facts)
        self.write()

    @contextmanager
    def together(self) -> Generator[None]:
        """What is kept inside is written at the end, all or nothing. Nothing may be awaited in it."""
        self._holding += 1
        try:
            yield
        finally:
            self._holding -= 1
            self.write()

    def write(self, *, durable: bool = False) -> bool:
        """Write what waits; False, once with a word in the log, when the file does not take it."""
        self._durable = self._durable or durable
        if self._holding or not self.unwritten:
            return not self.unwritten
        began = time.monotonic()
        if began < self._not_before:
            return False
        durable = self._durable and self.durable_seconds < SLOW_DISK.total_seconds()
        try:
            self._write_all(durable=durable)
        except StoreUnusable as error:
            self._could_not(error, began)
            return False
        if durable:
            self.durable_seconds = time.monotonic() - began
        self._has_written()
        return True

    def turns(self, session_id: str) -> list[str]:
        """The session's turns, oldest first, as they were kept. Raises `StoreUnusable`."""
        return [facts for (facts,) in self._ask(sql.TURNS, session_id)]

    def progress(self, session_id: str) -> str | None:
        """Raises `StoreUnusable`."""
        found = self._ask(sql.PROGRESS, session_id)
        return found[0][0] if found else None

    def events(self, *, after: int, session_id: str | None = None, limit: int) -> EventPage:
        """The events after a cursor, of one session or of all. Raises `StoreUnusable`."""
        self.write()
        if session_id is None:
            rows, floor = self._ask(sql.EVENTS, after, limit), self._ask(sql.FLOOR)
        else:
            rows = self._ask(sql.EVENTS_OF_SESSION, session_id, after, limit)
            floor = self._ask(sql.FLOOR_OF_SESSION, session_id)
        events = tuple(event_of(row) for row in rows)
        newest = self._ask(sql.NEWEST)[0][0]
        return EventPage(events, events[-1].seq if events else after, after < floor[0][0], newest)

    def forget(self, session_id: str) -> None:
        """Forget a session that nobody will ask for again; what happened to it is kept as long as other events."""
        with self.together():
            for statement in sql.FORGET_SESSION:
                self._keep(statement, session_id)

    # --- messages ----------------------------------------------------------------------------------------------------

    def add_message(self, session_id: str, message_id: str, state: str, **facts: object) -> Message:
        """Keep a new message; it is on the disk on return. Raises `StoreUnusable`, and then it is not kept."""
        return self.message_table.add(session_id, message_id, state, facts)

    def set_message(self, message_id: str, state: str, *, expected: str | Collection[str], **facts: object) -> bool:
        """Move a message on, with facts added; on the disk on return. Raises `StoreUnusable`.

        False, with nothing changed, unless it is in the expected state or in one of them.
        """
        states = {expected} if isinstance(expected, str) else expected
        return self.message_table.change(message_id, state, expected=states, facts=facts)

    def message(self, message_id: str) -> Message | None:
        """Raises `StoreUnusable`."""
        return self.message_table.get(message_id)

    def messages(self, session_id: str | None = None, *, states: Collection[str] | None = None) -> list[Message]:
        """Oldest first: of one session or of all, in these states or in any. Raises `StoreUnusable`."""
        return self.message_table.list(session_id, states=states)

    # --- the file ----------------------------------------------------------------------------------------------------

    def _keep(self, statement: str, *values: object) -> None:
        self.unwritten.append((statement, values))
        self.waiting.set()
        if len(self.unwritten) > MOST_KEPT:
            log.error("%s: a fact of a session is lost: %s", self.path, self.unwritten.pop(0)[1])

    def _write_all(self, *, durable: bool) -> None:
        with self.lock, STORE.translated(self.path):
            self.connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            with transaction(self.connection):
                for statement, values in self.unwritten:
                    self.connection.execute(statement, values)

    def _has_written(self) -> None:
        self.unwritten.clear()
        self._durable, self.waiting = False, anyio.Event()
        if self._troubled:
            log.warning("%s: what was kept is written again", self.path)
            self._troubled = False
        self.arrived.set()
        self.arrived = anyio.Event()

    def _could_not(self, error: StoreUnusable, began: float) -> None:
        if not self._troubled:
            log.warning("%s; facts of sessions are kept in memory until it can be written", error)
            self._troubled = True
        now = time.monotonic()
        if now - began > FACTS_WAIT.total_seconds() / 2:
            self._not_before = now + TRY_AGAIN_AFTER.total_seconds()

    def _ask(self, question: str, *values: object) -> list[tuple[Any, ...]]:
        with self.lock, STORE.translated(self.path):
            return self.connection.execute(question, values).fetchall()
