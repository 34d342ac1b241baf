"""Telling a parent's session how its execution ended, at most once.

Claimed on disk before the message is put into the parent's queue, under an id of its own: whoever finds it claimed
after a crash asks for that message, and sends none if it is there. From then on the queue's own rules hold. A parent
that has the result as the answer of a tool call is not told again.
"""

import logging
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from mcp_agent.errors import (
    ExecutionsUnusable,
    McpAgentError,
    NotWithdrawn,
    SessionEnded,
    UnknownMessage,
    UnknownSession,
)
from mcp_agent.executions.records import DeliveryState, ExecutionRecord
from mcp_agent.executions.store import ExecutionStore
from mcp_agent.executions.telling import told
from mcp_agent.sessions.input.sending import SendMode
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.manager import SessionManager
from mcp_agent.sessions.signals import SessionState

log = logging.getLogger(__name__)

T = TypeVar("T")

TRY_AGAIN_AFTER = timedelta(seconds=5)
SELDOM = timedelta(minutes=1)
_UNTOLD = frozenset({DeliveryState.PENDING, DeliveryState.CLAIMED})


@dataclass(slots=True, eq=False)
class Delivery:
    """The results that this server tells. Its tasks run in `owner`."""

    store: ExecutionStore
    sessions: SessionManager
    owner: TaskGroup
    _watched: Counter[str] = field(default_factory=Counter)
    """Executions whose parents wait for their end by a tool call just now."""
    _unwatched: anyio.Event = field(default_factory=anyio.Event)
    _at_work: set[str] = field(default_factory=set)

    def begin(self, record: ExecutionRecord) -> None:
        """The execution is over: tell its parent, as soon as that can be told anything."""
        if record.delivery in _UNTOLD and record.parent_session and record.id not in self._at_work:
            self._at_work.add(record.id)
            self.owner.start_soon(self._deliver, record, name=f"deliver {record.id}")

    @contextmanager
    def watched(self, execution_id: str) -> Generator[None]:
        """A tool call of the parent waits for the end: its answer comes first."""
        self._watched[execution_id] += 1
        try:
            yield
        finally:
            self._watched[execution_id] -= 1
            if not self._watched[execution_id]:
                del self._watched[execution_id]
            unwatched, self._unwatched = self._unwatched, anyio.Event()
            unwatched.set()

    async def answered(self, record: ExecutionRecord) -> None:
        """A tool call of the parent has the result as its answer: what was not told yet need not be."""
        if not record.is_finished or record.parent_session is None:
            return
        if await self._move(record, DeliveryState.TOLD, DeliveryState.PENDING):
            return
        try:
            parent = self.sessions.get(record.parent_session)
            await self.sessions.queue.withdraw(parent, record.delivery_id)
        except (NotWithdrawn, UnknownMessage, McpAgentError):
            return
        await self._move(record, DeliveryState.TOLD, DeliveryState.CLAIMED, DeliveryState.SENT)

    async def _deliver(self, record: ExecutionRecord) -> None:
        try:
            while self._watched[record.id]:
                await self._unwatched.wait()
            if await self._move(record, DeliveryState.CLAIMED, *_UNTOLD):
                state = await self._sent(record)
                await self._move(record, state, DeliveryState.CLAIMED)
                log.info("execution %s: its parent %s: %s", record.id, record.parent_session, state)
        finally:
            self._at_work.discard(record.id)

    async def _sent(self, record: ExecutionRecord) -> DeliveryState:
        """Return once the message stands in the parent's queue, or nobody is there to be told."""
        parent_id, problem = str(record.parent_session), ""
        while True:
            try:
                if await anyio.to_thread.run_sync(self.sessions.store.message, record.delivery_id) is not None:
                    return DeliveryState.SENT
                await self.sessions.send(parent_id, told(record), mode=SendMode.QUEUE, message_id=record.delivery_id)
            except UnknownSession:
                return DeliveryState.REFUSED
            except SessionEnded as error:
                if self._is_stopped(parent_id):
                    log.info("execution %s: nobody is told: %s", record.id, error)
                    return DeliveryState.REFUSED
                await self._until_it_lives(parent_id)
            except McpAgentError as error:
                if str(error) != problem:
                    log.warning("execution %s: its parent is not told yet: %s", record.id, error)
                problem = str(error)
                await self._until_it_lives(parent_id)
            else:
                return DeliveryState.SENT

    def _is_stopped(self, parent_id: str) -> bool:
        try:
            return self.sessions.get(parent_id).state is SessionState.STOPPED
        except McpAgentError:
            return False

    async def _until_it_lives(self, parent_id: str) -> None:
        """Wait until another try may do better: soon, or when a session that is over lives again."""
        try:
            parent: LiveSession | None = self.sessions.get(parent_id)
        except McpAgentError:
            parent = None
        await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
        if parent is not None and parent.over is not None:
            await parent.wait_until(lambda: parent.over is None, limit=SELDOM)

    async def _move(self, record: ExecutionRecord, to: DeliveryState, *expected: DeliveryState) -> bool:
        while True:
            try:
                return await anyio.to_thread.run_sync(partial(self.store.deliver, record.id, to, expected=expected))
            except ExecutionsUnusable as error:
                log.warning("execution %s: %s; trying again", record.id, error)
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
