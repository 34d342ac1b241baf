"""Reading the ledger: no question asked here changes a fact or restarts any work.

`get`, `similar` and `late_unoffered` take well under a millisecond. The lists look at every call that is kept, so an
event loop asks for them in a worker thread.
"""

import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Self

from mcp_agent.calls import ledger_rows as rows
from mcp_agent.calls.ledger_events import Recorded
from mcp_agent.calls.ledger_file import LEDGER
from mcp_agent.calls.ledger_fold import CallState, fold
from mcp_agent.calls.ledger_rows import Row
from mcp_agent.errors import UnknownCall
from mcp_agent.processes import ProcessIdentity

LISTED_CALLS = 100
"""How many calls a list shows unless it is asked for more."""

ANY_NUMBER = -1
"""As SQLite spells it in a LIMIT."""

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class LedgerReader:
    """The calls of one ledger file. Every method raises `LedgerUnusable` when the file cannot be read."""

    path: Path
    connection: sqlite3.Connection = field(repr=False)
    unwritten: list[Row] = field(default_factory=list)
    """Facts that the file did not take yet; answers count them in."""
    lock: RLock = field(default_factory=RLock, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; closing twice does nothing."""
        with self.lock:
            self.connection.close()

    def events(self, call_id: str) -> tuple[Recorded, ...]:
        """Every fact of the call in the order of writing; raises `UnknownCall` when there is none."""
        records = tuple(row.recorded() for row in self._facts(call_id))
        if not records:
            raise UnknownCall(call_id)
        return records

    def get(self, call_id: str) -> CallState:
        """What is known of the call; raises `UnknownCall`."""
        try:
            return fold(call_id, self.events(call_id))
        except ValueError as error:
            raise UnknownCall(call_id) from error

    def list(
        self, *, session: str | None = None, unknown_only: bool = False, limit: int = LISTED_CALLS
    ) -> tuple[CallState, ...]:
        """Calls, newest first: those of one session or of all, and of unknown outcome only when asked so."""
        query = rows.ALL_CALLS + (rows.OF_SESSION if session is not None else "")
        query += (rows.NO_KNOWN_OUTCOME if unknown_only else "") + rows.NEWEST_FIRST + " LIMIT ?"
        values = () if session is None else (session,)
        states = self._states(
            self._ids(query, *values, ANY_NUMBER if unknown_only else limit),
            wanted=lambda call: call.is_unknown or not unknown_only,
        )
        return tuple(islice(states, limit))

    def unobserved(self) -> tuple[CallState, ...]:
        """Calls whose wait has ended, and of which no outcome was observed or decided: what checks said is no end."""
        ids = self._ids(rows.ALL_CALLS + rows.NO_KNOWN_OUTCOME + rows.NEWEST_FIRST)
        return tuple(self._states(ids, wanted=lambda call: not call.is_open and call.resolution is None))

    def open_calls(self) -> tuple[CallState, ...]:
        """Every call whose wait has not ended, newest first."""
        query = rows.ALL_CALLS + rows.STILL_OPEN + rows.NEWEST_FIRST
        return tuple(self._states(self._ids(query), wanted=lambda call: call.is_open))

    def orphans(self, is_alive: Callable[[ProcessIdentity], bool]) -> tuple[CallState, ...]:
        """Open calls of servers that are gone: nobody waits for them, and nobody wrote that down."""
        return tuple(call for call in self.open_calls() if not is_alive(call.intent.owner))

    def similar(self, session: str, tool: str, *, digest: str) -> tuple[CallState, ...]:
        """Identical calls of the session whose caller knows no outcome, newest first: all that a gate can ask for."""
        query = rows.ALL_CALLS + rows.IDENTICAL + rows.NOT_ANSWERED + rows.NEWEST_FIRST
        ids = self._ids(query, session, digest)
        return tuple(self._states(ids, wanted=lambda call: call.tool == tool and not call.answered))

    def late_unoffered(self, session: str) -> tuple[CallState, ...]:
        """The session's calls with a late outcome that it was not told of, oldest first."""
        with self.lock:
            ids = [*self._ids(rows.LATE_UNOFFERED, session), *(row.call_id for row in self.unwritten)]
            states = self._states(dict.fromkeys(ids), wanted=lambda call: call.late and not call.offered)
            return tuple(call for call in states if call.session_id == session)

    def _ids(self, query: str, *values: object) -> Iterable[str]:
        with self.lock, LEDGER.translated(self.path):
            return [call_id for (call_id,) in self.connection.execute(query, values)]

    def _states(
        self, call_ids: Iterable[str], *, wanted: Callable[[CallState], bool] = lambda _: True
    ) -> Iterator[CallState]:
        for call_id in call_ids:
            try:
                call = self.get(call_id)
            except UnknownCall:
                log.warning("%s: call %s was pruned meanwhile, or its intent cannot be read", self.path, call_id)
                continue
            if wanted(call):
                yield call

    def _facts(self, call_id: str) -> Sequence[Row]:
        with self.lock, LEDGER.translated(self.path):
            written = [Row(*row) for row in self.connection.execute(rows.FACTS, (call_id,))]
            return [*written, *(row for row in self.unwritten if row.call_id == call_id)]
