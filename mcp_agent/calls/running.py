"""What runs in this server now: waits for calls, and works that nobody waits for any more.

The ledger says what is known of a call; this says how it is reached to be cancelled.
"""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from mcp_agent.calls.watchdog import CLEANUP_LIMIT


@dataclass(slots=True, eq=False)
class Running:
    """A wait or a work that can be cancelled."""

    session_id: str
    cancelled_by: str | None = None
    """Who cancelled it here: the `owner`, its `session` or the `server`. None: nobody, or its caller left."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    closed: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True)
class RunningCalls:
    """The cancel scopes of calls, by call id."""

    on_end: Callable[[str], object] = lambda _: None
    """Called with the session of a call of which neither a wait nor a work is left."""
    _waits: dict[str, Running] = field(default_factory=dict)
    _works: dict[str, Running] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many calls run, waited for or not."""
        return len(self._waits.keys() | self._works.keys())

    def at_work_for(self, session_id: str) -> str | None:
        """What keeps a session from being idle; None when no call of it runs."""
        count = sum(running.session_id == session_id for running in self._each())
        return f"{count} tool calls run" if count > 1 else "a tool call runs" if count else None

    def runs(self, call_id: str) -> bool:
        """Whether something of the call may still come to an end in this server."""
        return call_id in self._waits or call_id in self._works

    async def ended(self, call_id: str) -> None:
        """Return when the wait for the call has ended, or its work when nobody waits; at once when neither runs."""
        if running := self._waits.get(call_id) or self._works.get(call_id):
            await running.closed.wait()

    @contextmanager
    def wait(self, call_id: str, *, session_id: str) -> Generator[Running]:
        """The wait for a call; cancelling it cancels the work too."""
        with self._telling(call_id, session_id), _entered(self._waits, call_id, session_id) as running:
            yield running

    @contextmanager
    def work(self, call_id: str, *, session_id: str) -> Generator[None]:
        """The work itself, which is how it is reached when nobody waits for it any more."""
        with self._telling(call_id, session_id), _entered(self._works, call_id, session_id):
            yield

    @contextmanager
    def _telling(self, call_id: str, session_id: str) -> Generator[None]:
        try:
            yield
        finally:
            if not self.runs(call_id):
                self.on_end(session_id)

    async def cancel(self, call_id: str) -> bool:
        """Cancel one call and wait, bounded, for its clean-up; False when it does not run here.

        When the clean-up takes too long the call still `runs`.
        """
        found = self._waits.get(call_id) or self._works.get(call_id)
        if found is None:
            return False
        await _cancel([found], by="owner")
        return True

    async def cancel_session(self, session_id: str) -> int:
        """Cancel all calls of a session and wait, bounded, for their clean-up; how many there were."""
        found = [running for running in self._each() if running.session_id == session_id]
        await _cancel(found, by="session")
        return len(found)

    async def cancel_all(self) -> int:
        """Cancel everything that runs and wait, bounded, for its clean-up; how many calls there were."""
        found = [*self._each()]
        await _cancel(found, by="server")
        return len(found)

    def _each(self) -> Iterable[Running]:
        """Every call once: its wait, or its work when nobody waits."""
        return (self._works | self._waits).values()


async def _cancel(found: Iterable[Running], *, by: str) -> None:
    for running in found:
        running.cancelled_by = running.cancelled_by or by
        running.scope.cancel()
    with anyio.move_on_after(CLEANUP_LIMIT.total_seconds()):
        for running in found:
            await running.closed.wait()


@contextmanager
def _entered(table: dict[str, Running], call_id: str, session_id: str) -> Generator[Running]:
    running = table[call_id] = Running(session_id)
    try:
        with running.scope:
            yield running
    finally:
        del table[call_id]
        running.closed.set()
