"""Writing the states of executions down, however long the disk takes nothing.

Whoever waits for an end that has come and is not on the disk hears so.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import anyio
import anyio.to_thread

from mcp_agent.errors import EndNotWritten, ExecutionsUnusable
from mcp_agent.executions.records import ExecutionRecord, ExecutionState
from mcp_agent.executions.store import ExecutionStore

log = logging.getLogger(__name__)

WRITE_AGAIN_AFTER = timedelta(seconds=2)
TOLD_AFTER = timedelta(seconds=10)
"""A record that could not be written for so long is told to whoever waits for it."""


@dataclass(slots=True, eq=False)
class Moves:
    """`told` is called when `unwritten` has one more."""

    store: ExecutionStore
    told: Callable[[], object]
    unwritten: dict[str, EndNotWritten] = field(default_factory=dict)
    cancelled_by: dict[str, str] = field(default_factory=dict)
    """Who cancelled, as far as that may not be on the disk yet."""

    async def move(self, execution_id: str, state: ExecutionState, **facts: object) -> ExecutionRecord | None:
        """The record in its new state, or None as `ExecutionStore.move` answers; tried until the disk takes it.

        What was acknowledged is never lost. Nothing of the execution runs meanwhile.
        """
        began = anyio.current_time()
        try:
            while True:
                try:
                    return await self._write(execution_id, state, **facts)
                except ExecutionsUnusable as error:
                    log.warning("execution %s: %s; trying again", execution_id, error)
                    if anyio.current_time() - began > TOLD_AFTER.total_seconds():
                        self.unwritten[execution_id] = EndNotWritten(execution_id, error.path, error.problem)
                        self.told()
                    await anyio.sleep(WRITE_AGAIN_AFTER.total_seconds())
        finally:
            self.unwritten.pop(execution_id, None)

    async def end(self, execution_id: str, state: ExecutionState, **facts: object) -> ExecutionRecord | None:
        """The same for its last state; who cancelled it is on record then."""
        if by := self.cancelled_by.get(execution_id):
            facts["cancelled_by"] = by
        record = await self.move(execution_id, state, **facts)
        self.cancelled_by.pop(execution_id, None)
        return record

    async def note_cancel(self, record: ExecutionRecord, *, by: str) -> ExecutionRecord | None:
        """Have the next server know of a cancel, should this one die; the record if it is `cancelling` now.

        Tried once: a disk that takes nothing keeps nothing running.
        """
        self.cancelled_by.setdefault(record.id, by)
        try:
            moved = await self._write(record.id, ExecutionState.CANCELLING, cancelled_by=by)
            if moved is None and record.state is ExecutionState.QUEUED:
                await anyio.to_thread.run_sync(partial(self.store.note, record.id, cancelled_by=by))
        except ExecutionsUnusable as error:
            log.warning("execution %s: %s; it is ended nevertheless", record.id, error)
            return None
        return moved

    async def _write(self, execution_id: str, state: ExecutionState, **facts: object) -> ExecutionRecord | None:
        return await anyio.to_thread.run_sync(partial(self.store.move, execution_id, state, **facts))
