"""Handing acknowledged executions to the engine, which is open only while something begins or ends.

What acknowledges an execution is its row in our own record, on the disk before anybody is answered. This is the outbox
of that record: a database that is away delays an execution and loses none, and handing one over twice changes nothing.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

import anyio
import anyio.to_thread

from mcp_agent.errors import EngineReplaced, EngineUnavailable, ExecutionsUnusable
from mcp_agent.executions.engine import OVER, Engine, Job, OpenEngine, Work
from mcp_agent.executions.records import UNFINISHED, ExecutionRecord, ExecutionState
from mcp_agent.executions.store import ExecutionStore
from mcp_agent.executions.works import Works
from mcp_agent.sessions.input.messages import Changes

log = logging.getLogger(__name__)

T = TypeVar("T")

TRY_AGAIN_AFTER = timedelta(seconds=2)
QUIET_FOR = timedelta(milliseconds=50)
LONGEST_BURST = timedelta(seconds=1)
LINGERS_FOR = timedelta(seconds=2)
"""An open engine polls its database, for a tenth of a core; one that has nothing to begin or to end is closed."""

MOST_FAILURES = 3
"""An open engine whose database has failed so often is opened anew: what it needs may be gone from it."""

TOLD_AFTER = timedelta(seconds=10)
"""An end that makes room for nothing is told to a closed engine so late: the server may be ending too."""


@dataclass(slots=True, eq=False)
class Driving:
    """One server's engine, and who feeds it. `run` must run for anything to begin."""

    store: ExecutionStore
    open_engine: OpenEngine
    work: Work
    give_up: Callable[[ExecutionRecord], object]
    """Takes an execution that is not over, of which the engine says that it is."""
    concurrency: int
    """How many of one depth run at once."""
    trouble: str | None = None
    """Why nothing new begins; None while the engine answers, or nobody needs it."""
    engine: Engine | None = None
    _changes: Changes = field(default_factory=Changes)
    """Told when an execution is taken, begun or over."""
    _waiting: dict[str, ExecutionRecord] = field(default_factory=dict)
    """What the engine does not have yet."""
    _new: set[str] = field(default_factory=set)
    """Of these, what no engine was ever given."""

    def take(self, record: ExecutionRecord) -> None:
        """An execution was acknowledged: hand it over."""
        self._waiting[record.id] = record
        self._new.add(record.id)
        self._changes.tell()

    async def run(self) -> None:
        """Ends when it is cancelled; what runs then is broken off, for the next server to go on with."""
        async with anyio.create_task_group() as owner:
            works = Works(self.work, self.concurrency, owner, self._changes)
            self._hand_over_later(await self._unfinished())
            while True:
                await self._until_needed(works)
                await self._no_more_come()
                try:
                    await self._drive(works)
                    # Work may have ended as the engine was closed: it makes room, and nobody else says so.
                    self._hand_over_later(await self._overdue(works))
                except EngineUnavailable as error:
                    self._is_troubled(error)
                    await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
                    self._hand_over_later(await self._unfinished())

    async def forget(self, execution_id: str) -> None:
        """The execution is over before it began: the engine need not begin it."""
        if self.engine is not None:
            try:
                await self.engine.cancel(execution_id)
            except EngineUnavailable as error:
                log.info("execution %s: %s; its work will find that it is over", execution_id, error)

    async def _until_needed(self, works: Works) -> None:
        """Return when something is to begin, or when the engine has not heard of an end for a while."""
        while not self._waiting:
            since = self._changes.next
            if not works.untold:
                await since.wait()
                continue
            self._hand_over_later(await self._overdue(works))
            with anyio.move_on_after(TOLD_AFTER.total_seconds()) as quiet:
                if not self._waiting:
                    await since.wait()
            if quiet.cancelled_caught:
                return

    async def _drive(self, works: Works) -> None:
        """Open the engine, and return when nothing is left for it to begin or to end."""
        async with self.open_engine(works.attend) as engine:
            self.engine = engine
            try:
                await self._feed(engine, works)
            finally:
                self.engine = None

    async def _unfinished(self) -> list[ExecutionRecord]:
        return await self._read(lambda: self.store.select(states=UNFINISHED))

    async def _read(self, question: Callable[[], T]) -> T:
        """What the record answers, once it does."""
        was_troubled = False
        while True:
            try:
                answer = await anyio.to_thread.run_sync(question)
            except ExecutionsUnusable as error:
                self._is_troubled(error)
                was_troubled = True
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
            else:
                self.trouble = None if was_troubled else self.trouble
                return answer

    def _hand_over_later(self, records: list[ExecutionRecord]) -> None:
        for record in records:
            self._waiting.setdefault(record.id, record)

    async def _feed(self, engine: Engine, works: Works) -> None:
        """Return when nothing is left to begin or to end, or the engine must be opened anew."""
        failures = 0
        while failures < MOST_FAILURES:
            try:
                await self._no_more_come()
                while self._waiting:
                    await self._hand_over(engine, next(iter(self._waiting.values())), works)
                self.trouble = None
                if await self._is_quiet() and await self._is_at_rest(engine, works):
                    works.untold = False
                    return
                failures = 0
            except EngineUnavailable as error:
                self._is_troubled(error)
                failures = MOST_FAILURES if isinstance(error, EngineReplaced) else failures + 1
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
        self._hand_over_later(await self._unfinished())

    async def _is_quiet(self) -> bool:
        with anyio.move_on_after(LINGERS_FOR.total_seconds()) as quiet:
            await self._changes.next.wait()
        return quiet.cancelled_caught

    async def _is_at_rest(self, engine: Engine, works: Works) -> bool:
        """Whether the engine has begun all that it may and waits for the rest, so that it can be closed.

        What it should have begun is handed over again: an engine that lost its file says so only then.
        """
        since = self._changes.next
        self._hand_over_later(await self._overdue(works))
        rests = all(map(works.rests, await engine.list()))
        return rests and not self._waiting and since is self._changes.next

    async def _overdue(self, works: Works) -> list[ExecutionRecord]:
        """What is not over, does not run, and could."""
        return [
            record
            for record in await self._unfinished()
            if record.state is not ExecutionState.CANCELLING
            and record.id not in works
            and not works.is_full(_lane(record))
        ]

    async def _no_more_come(self) -> None:
        """Let a burst of calls be answered first: an engine takes longer to open, and to be given one, than a row."""
        with anyio.move_on_after(LONGEST_BURST.total_seconds()):
            while self._waiting:
                with anyio.move_on_after(QUIET_FOR.total_seconds()) as quiet:
                    await self._changes.next.wait()
                if quiet.cancelled_caught:
                    return

    async def _hand_over(self, engine: Engine, record: ExecutionRecord, works: Works) -> None:
        known = await engine.get(record.id) if record.id not in self._new else None
        if known is None or known.state not in OVER:
            order = await self._read(lambda: self.store.order(record.id))
            await engine.start(Job(record.id, "", lane=_lane(record), order=order))
        elif record.id not in works:
            self.give_up(record)
        del self._waiting[record.id]
        self._new.discard(record.id)

    def _is_troubled(self, error: EngineUnavailable | ExecutionsUnusable) -> None:
        if self.trouble != str(error):
            log.warning("executions wait: %s", error)
        self.trouble = str(error)


def _lane(record: ExecutionRecord) -> str:
    return str(record.depth)
