"""Handing acknowledged executions to the engine, which is opened when there is one to run.

What acknowledges an execution is its row in our own record, on the disk before anybody is answered. This is the outbox
of that record: a database that is away delays an execution and loses none, and handing one over twice changes nothing.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
import anyio.to_thread

from mcp_agent.errors import EngineReplaced, EngineUnavailable, ExecutionsUnusable
from mcp_agent.executions.engine import OVER, Engine, Job, OpenEngine, Work
from mcp_agent.executions.records import UNFINISHED, ExecutionRecord, ExecutionState
from mcp_agent.executions.store import ExecutionStore

log = logging.getLogger(__name__)

TRY_AGAIN_AFTER = timedelta(seconds=2)
QUIET_FOR = timedelta(milliseconds=50)
LONGEST_BURST = timedelta(seconds=1)
LINGERS_FOR = timedelta(minutes=1)
"""An engine with nothing to do polls its database; after so long it is closed."""


@dataclass(slots=True, eq=False)
class Driving:
    """One server's engine, and who feeds it. `run` must run for anything to begin."""

    store: ExecutionStore
    open_engine: OpenEngine
    work: Work
    give_up: Callable[[ExecutionRecord], object]
    """Takes an execution that is not over, of which the engine says that it is."""
    trouble: str | None = None
    """Why nothing new begins; None while the engine answers, or nobody needs it."""
    engine: Engine | None = None
    _woken: anyio.Event = field(default_factory=anyio.Event)
    _waiting: dict[str, ExecutionRecord] = field(default_factory=dict)
    """What the engine does not have yet."""

    def take(self, record: ExecutionRecord) -> None:
        """An execution was acknowledged: hand it over."""
        self._waiting[record.id] = record
        woken, self._woken = self._woken, anyio.Event()
        woken.set()

    async def run(self) -> None:
        """Ends when it is cancelled; what runs then is broken off, for the next server to go on with."""
        while True:
            for record in await self._unfinished():
                self._waiting.setdefault(record.id, record)
            while not self._waiting:
                await self._woken.wait()
            try:
                async with self.open_engine(self.work) as engine:
                    self.engine = engine
                    try:
                        await self._feed(engine)
                    finally:
                        self.engine = None
            except EngineUnavailable as error:
                self._is_troubled(error)
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())

    async def forget(self, execution_id: str) -> None:
        """The execution is over before it began: the engine need not begin it."""
        if self.engine is not None:
            try:
                await self.engine.cancel(execution_id)
            except EngineUnavailable as error:
                log.info("execution %s: %s; its work will find that it is over", execution_id, error)

    async def _unfinished(self) -> list[ExecutionRecord]:
        while True:
            try:
                return await anyio.to_thread.run_sync(lambda: self.store.select(states=UNFINISHED))
            except ExecutionsUnusable as error:
                self._is_troubled(error)
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())

    async def _feed(self, engine: Engine) -> None:
        while True:
            woken = self._woken
            try:
                await self._no_more_come()
                while self._waiting:
                    await self._hand_over(engine, next(iter(self._waiting.values())))
                self.trouble = None
            except EngineReplaced as error:
                self._is_troubled(error)
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
                return
            except EngineUnavailable as error:
                self._is_troubled(error)
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
            else:
                with anyio.move_on_after(LINGERS_FOR.total_seconds()):
                    await woken.wait()
                unfinished = await self._unfinished()
                if not (self._waiting or unfinished):
                    return
                # An engine that lost its file says so only when it is given something.
                for record in unfinished:
                    if record.state is ExecutionState.QUEUED:
                        self._waiting.setdefault(record.id, record)

    async def _no_more_come(self) -> None:
        """Let a burst of calls be answered first: handing one over takes longer than acknowledging it."""
        with anyio.move_on_after(LONGEST_BURST.total_seconds()):
            while self._waiting:
                woken = self._woken
                with anyio.move_on_after(QUIET_FOR.total_seconds()) as quiet:
                    await woken.wait()
                if quiet.cancelled_caught:
                    return

    async def _hand_over(self, engine: Engine, record: ExecutionRecord) -> None:
        known = await engine.get(record.id) if record.state is not ExecutionState.QUEUED else None
        if known is not None and known.state in OVER:
            self.give_up(record)
        else:
            await engine.start(Job(record.id, "", lane=str(record.depth)))
        del self._waiting[record.id]

    def _is_troubled(self, error: EngineUnavailable | ExecutionsUnusable) -> None:
        if self.trouble != str(error):
            log.warning("executions wait: %s", error)
        self.trouble = str(error)
