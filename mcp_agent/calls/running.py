"""What runs in this server now: waits for calls, and works that nobody waits for any more.

The ledger says what is known of a call; this says how it is reached to be cancelled.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from mcp_agent.calls.watchdog import CLEANUP_LIMIT


@dataclass(slots=True, eq=False)
class _Running:
    session_id: str
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    closed: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True)
class RunningCalls:
    """The cancel scopes of calls, by call id."""

    _waits: dict[str, _Running] = field(default_factory=dict)
    _works: dict[str, _Running] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many calls run, waited for or not."""
        return len(self._waits.keys() | self._works.keys())

    @contextmanager
    def wait(self, call_id: str, *, session_id: str) -> Generator[anyio.CancelScope]:
        """The scope of the wait for a call; cancelling it cancels the work too."""
        with _entered(self._waits, call_id, session_id) as scope:
            yield scope

    @contextmanager
    def work(self, call_id: str, *, session_id: str) -> Generator[None]:
        """The scope of the work itself, which is how it is reached when nobody waits for it any more."""
        with _entered(self._works, call_id, session_id):
            yield

    async def cancel(self, call_id: str) -> bool:
        """Cancel one call and wait, bounded, for its clean-up; False when it does not run here."""
        running = self._waits.get(call_id) or self._works.get(call_id)
        if running is None:
            return False
        await _cancel([running])
        return True

    async def cancel_session(self, session_id: str) -> int:
        """Cancel all calls of a session and wait, bounded, for their clean-up; how many there were."""
        left = [work for call_id, work in self._works.items() if call_id not in self._waits]
        found = [running for running in [*self._waits.values(), *left] if running.session_id == session_id]
        await _cancel(found)
        return len(found)

    async def cancel_all(self) -> None:
        """Cancel everything that runs and wait, bounded, for its clean-up."""
        await _cancel([*self._waits.values(), *self._works.values()])


async def _cancel(found: list[_Running]) -> None:
    for running in found:
        running.scope.cancel()
    with anyio.move_on_after(CLEANUP_LIMIT.total_seconds()):
        for running in found:
            await running.closed.wait()


@contextmanager
def _entered(table: dict[str, _Running], call_id: str, session_id: str) -> Generator[anyio.CancelScope]:
    running = table[call_id] = _Running(session_id)
    try:
        with running.scope as scope:
            yield scope
    finally:
        del table[call_id]
        running.closed.set()
