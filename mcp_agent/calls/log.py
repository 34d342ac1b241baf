"""The calls of this server: which run, which have ended, and why.

Kept in memory, newest last; an ended call is forgotten when many newer ones have ended.
"""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum

import anyio

from mcp_agent.calls.watchdog import CLEANUP_LIMIT

ENDED_CALLS_KEPT = 1000


class WhyEnded(StrEnum):
    """Why the wait for a call ended; what happened to the work is another question."""

    RESULT = "result"
    TOOL_WAIT = "tool_wait"
    SERVER_TOOL = "server_tool"
    CANCEL = "cancel"


class Happened(StrEnum):
    """What happened to the work, as far as anybody knows."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    NOT_STARTED = "not_started"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call. Times are wall-clock epochs; the last three are None while the call is waited for."""

    call_id: str
    session_id: str
    tool: str
    arguments: Mapping[str, object]
    started_at: float
    turn_id: str | None = None
    ended_at: float | None = None
    why_ended: WhyEnded | None = None
    happened: Happened | None = None


@dataclass(slots=True)
class _OpenCall:
    """A call that is waited for, or the work of one."""

    record: CallRecord
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    closed: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True)
class CallLog:
    """Every call is opened once and ended once."""

    _open: dict[str, _OpenCall] = field(default_factory=dict)
    _ended: dict[str, CallRecord] = field(default_factory=dict)
    _works: dict[str, _OpenCall] = field(default_factory=dict)

    def all(self, session_id: str | None = None) -> list[CallRecord]:
        """Ended calls, then running ones; of one session, or of all."""
        records = [*self._ended.values(), *(call.record for call in self._open.values())]
        return [record for record in records if session_id in {None, record.session_id}]

    def knows(self, call_id: str) -> bool:
        return call_id in self._open or call_id in self._ended

    @contextmanager
    def open(self, record: CallRecord) -> Generator[anyio.CancelScope]:
        """The call's own scope, through which `cancel_session` reaches it. The body ends the call with `end`."""
        call = self._open[record.call_id] = _OpenCall(record)
        try:
            with call.scope as scope:
                yield scope
        finally:
            if record.call_id in self._open:
                self.end(record.call_id, why=WhyEnded.CANCEL, happened=Happened.UNKNOWN)
            call.closed.set()

    def end(self, call_id: str, *, why: WhyEnded, happened: Happened) -> None:
        call = self._open.pop(call_id)
        self._ended[call_id] = replace(call.record, ended_at=time.time(), why_ended=why, happened=happened)
        while len(self._ended) > ENDED_CALLS_KEPT:
            self._ended.pop(next(iter(self._ended)))

    @contextmanager
    def work(self, record: CallRecord) -> Generator[None]:
        """The scope of the work itself, through which `cancel_session` reaches it when nobody waits for it any more."""
        work = self._works[record.call_id] = _OpenCall(record)
        try:
            with work.scope:
                yield
        finally:
            del self._works[record.call_id]
            work.closed.set()

    async def cancel_session(self, session_id: str) -> int:
        """Cancel the calls of a session, also those that are not waited for any more, and wait for their clean-up.

        The wait is bounded. Answers how many there were.
        """
        left = [work for call_id, work in self._works.items() if call_id not in self._open]
        calls = [call for call in [*self._open.values(), *left] if call.record.session_id == session_id]
        for call in calls:
            call.scope.cancel()
        with anyio.move_on_after(CLEANUP_LIMIT.total_seconds()):
            for call in calls:
                await call.closed.wait()
        return len(calls)
