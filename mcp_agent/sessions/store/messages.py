"""Messages on disk: each is there before its sender hears of it, and changes its state one step at a time."""

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from mcp_agent.database import transaction
from mcp_agent.sessions.store import file as sql
from mcp_agent.sessions.store.file import STORE


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it stands on disk. `seq` orders the messages of all sessions; `at` is a wall-clock epoch."""

    id: str
    session_id: str
    seq: int
    at: float
    state: str
    facts: Mapping[str, object]


@dataclass(slots=True, eq=False)
class MessageTable:
    """The messages of all sessions. Every method raises `StoreUnusable`, and may be called from any thread.

    What a method changes is on the disk on return.
    """

    path: Path
    connection: sqlite3.Connection = field(repr=False)
    clock: Callable[[], float] = time.time
    lock: Lock = field(default_factory=Lock, repr=False)

    def close(self) -> None:
        with self.lock:
            self.connection.close()

    def add(self, session_id: str, message_id: str, state: str, facts: Mapping[str, object]) -> Message:
        with self._transaction():
            values = (message_id, session_id, self.clock(), state, json.dumps(facts))
            self.connection.execute(sql.INSERT_MESSAGE, values)
            return self._get(message_id)

    def change(self, message_id: str, state: str, *, expected: Collection[str], facts: Mapping[str, object]) -> bool:
        """Whether the message was in one of these states; then it is in the new one, with the facts added."""
        with self._transaction():
            found = self.connection.execute(sql.MESSAGE, (message_id,)).fetchone()
            if found is None or (message := _message(found)).state not in expected:
                return False
            values = (state, json.dumps({**message.facts, **facts}), message_id)
            self.connection.execute(sql.UPDATE_MESSAGE, values)
            return True

    def get(self, message_id: str) -> Message | None:
        with self.lock, STORE.translated(self.path):
            found = self.connection.execute(sql.MESSAGE, (message_id,)).fetchone()
        return _message(found) if found else None

    def list(self, session_id: str | None, *, states: Collection[str] | None) -> list[Message]:
        question = (sql.MESSAGES,) if session_id is None else (sql.MESSAGES_OF_SESSION, (session_id,))
        with self.lock, STORE.translated(self.path):
            found = self.connection.execute(*question).fetchall()
        return [message for message in map(_message, found) if states is None or message.state in states]

    def _get(self, message_id: str) -> Message:
        return _message(self.connection.execute(sql.MESSAGE, (message_id,)).fetchone())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self.lock, STORE.translated(self.path), transaction(self.connection):
            yield


def _message(row: tuple[str, str, int, float, str, str]) -> Message:
    message_id, session_id, seq, at, state, facts = row
    return Message(message_id, session_id, seq, at, state, json.loads(facts))
