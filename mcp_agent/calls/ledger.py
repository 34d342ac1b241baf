"""The write-ahead ledger of tool calls: what was intended, before it was done, and all that became known of it since.

Facts are only ever added. `intent` is on the disk when it returns, and so is what a person decided; the other facts
are with the operating system, which is enough to survive the death of every process of ours. A power cut may take the
newest of those, and leaves calls of unknown outcome, never calls that nobody knows of. `benchmarks/bench_ledger.py`
measures both. An event loop writes intents by `noting.write_ahead`; every method may be called from any thread.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from mcp_agent.calls import ledger_rows as rows
from mcp_agent.calls.ledger_events import DuplicateAllowed, Event, Intent, Outcome, Resolved
from mcp_agent.calls.ledger_file import LEDGER
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.calls.ledger_known import Known
from mcp_agent.calls.ledger_reading import LedgerReader
from mcp_agent.calls.ledger_rows import Row
from mcp_agent.database import transaction
from mcp_agent.errors import DuplicateCall, LedgerUnusable, UnknownCall

PRUNED_AT_ONCE = 200
"""How many calls are pruned before other writers get their turn."""

_WAITS_FOR_THE_DISK = (Intent, Resolved, DuplicateAllowed)

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Ledger(LedgerReader):
    """A ledger that can be written, by one process: a server holds its state directory's lock. Others may read."""

    clock: Callable[[], float] = time.time
    intent_seconds: float = 0.0
    """How long the disk took for the newest intent."""
    known: Known = field(default_factory=Known)

    @classmethod
    def open(cls, path: Path, *, clock: Callable[[], float] = time.time) -> Self:
        """Open the file, made when it is not there; raises `LedgerUnusable`. The clock says wall-clock epochs."""
        connection = LEDGER.open_for_writing(path)
        return cls(path, connection, clock=clock, known=Known.of(connection))

    @staticmethod
    def read_only(path: Path) -> LedgerReader:
        """The file for looking at; one that is not there reads as empty. Raises `LedgerUnusable`."""
        return LedgerReader(path, LEDGER.open_for_reading(path))

    def close(self) -> None:
        """Write what is left to write, and let go of the file; closing twice does nothing."""
        with self.lock:
            if self.unwritten:
                with suppress(LedgerUnusable):
                    self._write([], durable=True)
            for row in self.unwritten:
                _log_lost(self.path, row)
            self.unwritten.clear()
            self.connection.close()

    def intent(self, call_id: str, intent: Intent) -> None:
        """Write down that this call is about to be made; it is on the disk on return.

        Raises `DuplicateCall` when the id was used before, and `LedgerUnusable` when the fact cannot be written: then
        nothing is recorded, and the call must not be made.
        """
        began = time.monotonic()
        self.known.intend(intent.session_id, intent.digest)
        self._write([Row.of(call_id, intent, at=self.clock())], durable=True)
        self.intent_seconds = time.monotonic() - began

    def append(self, call_id: str, *events: Event) -> None:
        """Add facts to a call, all or none; raises `UnknownCall` when it has no intent.

        Raises `LedgerUnusable` when the file does not take them. They are not lost by that: answers of this object
        count them in, and the next write writes them first.
        """
        added = [Row.of(call_id, event, at=self.clock()) for event in events]
        with self.lock:
            if any(isinstance(event, Outcome) and event.late for event in events):
                self._has_late(call_id)
            try:
                self._write(added, durable=any(isinstance(event, _WAITS_FOR_THE_DISK) for event in events))
            except LedgerUnusable:
                self.unwritten.extend(added)
                raise

    def similar(self, session: str, tool: str, *, digest: str) -> tuple[CallState, ...]:
        # What follows was asked in every call: the file is asked only where it could have an answer.
        if not self.known.may_be_intended(session, digest):
            return ()
        return LedgerReader.similar(self, session, tool, digest=digest)

    def late_unoffered(self, session: str) -> tuple[CallState, ...]:
        if not self.known.may_be_late(session):
            return ()
        return LedgerReader.late_unoffered(self, session)

    def prune(self, before: float, *, keep: Callable[[str], bool] = lambda _: False) -> tuple[str, ...]:
        """Forget the calls whose last fact is older than this epoch, and answer their ids.

        Calls that are waited for, those whose outcome nobody knows, and those to `keep` stay. Takes a while when there
        is much to forget, so it belongs in a worker thread; other writers get their turns in between. On return the
        file holds nothing of what was forgotten, unless a reader keeps an old state alive just then.
        """
        old = [call_id for call_id in self._ids(rows.UNTOUCHED_SINCE, before) if not keep(call_id)]
        pruned: list[str] = []
        for first in range(0, len(old), PRUNED_AT_ONCE):
            pruned += self._prune_some(old[first : first + PRUNED_AT_ONCE], before)
        with self.lock, LEDGER.translated(self.path):
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return tuple(pruned)

    def _prune_some(self, call_ids: Sequence[str], before: float) -> Sequence[str]:
        with self._transaction(durable=False):
            # Facts may have come since these were chosen; now none can.
            over = [
                call.call_id
                for call in self._states(call_ids)
                if not call.is_open and not call.is_unknown and self._facts(call.call_id)[-1].at < before
            ]
            self.connection.executemany(rows.DELETE, [(call_id,) for call_id in over])
        return over

    def _has_late(self, call_id: str) -> None:
        try:
            self.known.late.update(self._ids(rows.SESSION, call_id))
        except LedgerUnusable:
            self.known.complete = False

    def _write(self, added: Sequence[Row], *, durable: bool) -> None:
        """Write facts of one call, and before them what was not written yet, all or nothing."""
        with self.lock:
            if not self.unwritten:
                with LEDGER.translated(self.path):
                    self._wait_for_the_disk(durable)
                    self._insert(added)
                return
            with self._transaction(durable=durable):
                for row in self.unwritten:
                    self._insert_again(row)
                self._insert(added)
            self.unwritten.clear()

    def _insert_again(self, row: Row) -> None:
        """Insert a fact that was not written before; its call may have been pruned since."""
        try:
            self._insert([row])
        except UnknownCall:
            _log_lost(self.path, row)

    def _insert(self, added: Sequence[Row]) -> None:
        """Insert facts of one call by one statement, which outside of a transaction is one by itself."""
        if not added:
            return
        is_intent, call_id = added[0].kind == "intent", added[0].call_id
        values = [value for row in added for value in row.values]
        if self.connection.execute(rows.insert(len(added), is_intent=is_intent), (*values, call_id)).rowcount == 0:
            raise DuplicateCall(call_id) if is_intent else UnknownCall(call_id)

    def _wait_for_the_disk(self, durable: bool) -> None:
        """Whether the next transaction ends only when the disk has it."""
        self.connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")

    @contextmanager
    def _transaction(self, *, durable: bool) -> Iterator[None]:
        with self.lock, LEDGER.translated(self.path):
            self._wait_for_the_disk(durable)
            with transaction(self.connection):
                yield


def _log_lost(path: Path, row: Row) -> None:
    log.error("%s: lost a fact of call %s: %s %s", path, row.call_id, row.kind, row.facts)
