"""The record of executions on disk: what acknowledges one, and all that became of it.

Every change is on the disk on return. A state follows another only as `records.may_follow` says, checked in the same
transaction: whoever comes too late is told so, and changes nothing. Methods may be called from any thread.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Self

from pydantic import TypeAdapter, ValidationError

from mcp_agent.database import transaction
from mcp_agent.errors import ExecutionUnreadable, IdempotencyKeyReused, QueueFull, UnknownExecution
from mcp_agent.executions import file as sql
from mcp_agent.executions.file import EXECUTIONS
from mcp_agent.executions.records import FINISHED, DeliveryState, ExecutionRecord, ExecutionState, may_follow

log = logging.getLogger(__name__)

OWNER_SCOPE = "owner"


@dataclass(frozen=True, slots=True)
class ChildSecrets:
    """What a child is launched with that must stand in no record; kept until its execution has ended."""

    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The caller's variables, of which the child sees what it may."""
    api_key: str | None = field(default=None, repr=False)


_RECORD = TypeAdapter(ExecutionRecord)
_SECRETS = TypeAdapter(ChildSecrets)


@dataclass(slots=True, eq=False)
class ExecutionStore:
    """One server's record of executions. Every method raises `ExecutionsUnusable`.

    A row that cannot be read is left out by whatever answers several, and `ExecutionUnreadable` where it is asked for.
    """

    path: Path
    connection: sqlite3.Connection = field(repr=False)
    clock: Callable[[], float] = time.time
    write_seconds: float = 0.0
    """How long the disk took for the newest change."""
    unreadable: dict[str, ExecutionUnreadable] = field(default_factory=dict)
    """The rows that were left out."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float] = time.time) -> Self:
        connection = EXECUTIONS.open_for_writing(path)
        connection.execute("PRAGMA synchronous = FULL")
        return cls(path, connection, clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.connection.close()

    def add(self, record: ExecutionRecord, secrets: ChildSecrets, *, most_unfinished: int) -> ExecutionRecord:
        """Keep a new execution, or answer the one that has its idempotency key.

        Raises `IdempotencyKeyReused` and `QueueFull`, with nothing kept.
        """
        values = _row(record, secrets)
        with self._transaction():
            earlier = self._one(sql.OF_KEY, _scope(record), record.idempotency_key)
            if earlier is not None and earlier.digest != record.digest:
                raise IdempotencyKeyReused(record.idempotency_key or "", earlier.id)
            if earlier is not None:
                return earlier
            if self.connection.execute(sql.COUNT).fetchone()[0] >= most_unfinished:
                raise QueueFull(most_unfinished)
            self.connection.execute(sql.INSERT, values)
        return record

    def move(self, execution_id: str, state: ExecutionState, **facts: object) -> ExecutionRecord | None:
        """Bring an execution into this state, with these facts; None when it may not come into it any more.

        Raises `UnknownExecution`.
        """
        with self._transaction():
            record = self._known(execution_id)
            if not may_follow(record.state, state):
                return None
            moved = self._keep(replace(record, state=state, **facts))  # type: ignore[arg-type]
        if state in FINISHED:
            self._forget_old_pages()
        return moved

    def note(self, execution_id: str, **facts: object) -> ExecutionRecord:
        """Add facts to an execution, whose state stays. Raises `UnknownExecution`."""
        with self._transaction():
            return self._keep(replace(self._known(execution_id), **facts))  # type: ignore[arg-type]

    def deliver(self, execution_id: str, to: DeliveryState, *, expected: Collection[DeliveryState]) -> bool:
        """Whether the telling of its parent was in one of these states, and so is in the new one."""
        with self._transaction():
            record = self._known(execution_id)
            if record.delivery not in expected:
                return False
            self._keep(replace(record, delivery=to))
            return True

    def get(self, execution_id: str) -> ExecutionRecord:
        """Raises `UnknownExecution`."""
        with self._reading():
            return self._known(execution_id)

    def order(self, execution_id: str) -> int:
        """Its place in the order in which executions were acknowledged, from 1; 1 too for one that is not known."""
        with self._reading():
            found = self.connection.execute(sql.ORDER, (execution_id,)).fetchone()
        return int(found[0]) if found else 1

    def of_key(self, key: str, *, parent: str | None) -> ExecutionRecord | None:
        """The execution that this caller started with this idempotency key."""
        with self._reading():
            return self._one(sql.OF_KEY, parent or OWNER_SCOPE, key)

    def of_call(self, call_id: str) -> ExecutionRecord | None:
        """The execution that this tool call started."""
        with self._reading():
            return self._one(sql.OF_CALL, call_id)

    def secrets(self, execution_id: str) -> ChildSecrets:
        """What it is to be launched with; nothing once it has ended."""
        with self._reading():
            found = self.connection.execute(sql.SECRETS, (execution_id,)).fetchone()
        return _SECRETS.validate_json(found[0]) if found and found[0] else ChildSecrets()

    def select(
        self,
        *,
        parent: str | None = None,
        states: Collection[ExecutionState] | None = None,
        limit: int | None = None,
    ) -> list[ExecutionRecord]:
        """Oldest first, the newest `limit` of them."""
        conditions, values = ["1"], list[object]()
        if parent is not None:
            conditions.append("parent = ?")
            values.append(parent)
        if states is not None:
            conditions.append(f"state IN ({', '.join('?' * len(states))})")
            values.extend(states)
        where = " AND ".join(conditions)
        query = f"SELECT id, CAST(facts AS BLOB) FROM executions WHERE {where} ORDER BY seq DESC LIMIT ?"
        with self._reading():
            rows = self.connection.execute(query, (*values, -1 if limit is None else limit)).fetchall()
        return list(self._readable(reversed(rows)))

    def untold(self) -> list[ExecutionRecord]:
        """Those whose parents are still to be told."""
        with self._reading():
            rows = self.connection.execute(sql.UNTOLD).fetchall()
        return list(self._readable(rows))

    def prune(self, before: float) -> int:
        """Forget what has ended and was started before this epoch; how many there were."""
        with self._transaction():
            return self.connection.execute(sql.PRUNE, (before,)).rowcount

    def _forget_old_pages(self) -> None:
        """What was overwritten, secrets among it, stands in the write-ahead log until that is emptied."""
        with self._reading():
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _keep(self, record: ExecutionRecord) -> ExecutionRecord:
        facts = _RECORD.dump_json(record).decode()
        self.connection.execute(sql.UPDATE, (record.state, record.delivery, facts, record.id))
        if record.state in FINISHED:
            self.connection.execute(sql.FORGET_SECRETS, (record.id,))
        return record

    def _known(self, execution_id: str) -> ExecutionRecord:
        record = self._one(sql.FACTS, execution_id)
        if record is None:
            raise UnknownExecution(execution_id)
        return record

    def _one(self, query: str, *values: object) -> ExecutionRecord | None:
        found = self.connection.execute(query, values).fetchone()
        return self._read(*found) if found else None

    def _readable(self, rows: Iterable[tuple[str, bytes]]) -> Iterator[ExecutionRecord]:
        for execution_id, facts in rows:
            try:
                yield self._read(execution_id, facts)
            except ExecutionUnreadable as error:
                if execution_id not in self.unreadable:
                    log.error("%s", error)  # noqa: TRY400  where it stands says all
                self.unreadable[execution_id] = error

    def _read(self, execution_id: str, facts: bytes) -> ExecutionRecord:
        try:
            return _RECORD.validate_json(facts)
        except ValidationError as error:
            raise ExecutionUnreadable(self.path, execution_id) from error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock, EXECUTIONS.translated(self.path):
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, EXECUTIONS.translated(self.path):
            began = time.monotonic()
            with transaction(self.connection):
                yield
            self.write_seconds = time.monotonic() - began


def _row(record: ExecutionRecord, secrets: ChildSecrets) -> tuple[object, ...]:
    return (
        record.id,
        _scope(record),
        record.idempotency_key,
        record.parent_session,
        record.call_id,
        record.state,
        record.delivery,
        record.created_at,
        _RECORD.dump_json(record).decode(),
        _SECRETS.dump_json(secrets).decode(),
    )


def _scope(record: ExecutionRecord) -> str:
    """Whose idempotency keys it is held against."""
    return record.parent_session or OWNER_SCOPE
