"""Executions of one server: started, looked up, waited for, cancelled, and gone on with after a crash."""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from mcp_agent.config import Config
from mcp_agent.deadlines import Deadlines
from mcp_agent.errors import (
    ExecutionsUnusable,
    ExecutionUnreadable,
    IdempotencyKeyReused,
    McpAgentError,
    StoreUnusable,
    TmuxUnavailable,
    UnknownExecution,
)
from mcp_agent.executions.asking import Admission, Caller, Wish
from mcp_agent.executions.callers import caller_of
from mcp_agent.executions.children import ASK_AGAIN_AFTER, Children
from mcp_agent.executions.delivery import Delivery
from mcp_agent.executions.driving import Driving
from mcp_agent.executions.ending import CANCEL, Ending, Order
from mcp_agent.executions.engine import Job, OpenEngine
from mcp_agent.executions.live_children import LiveChildren
from mcp_agent.executions.moving import WRITE_AGAIN_AFTER, Moves
from mcp_agent.executions.records import UNFINISHED, ExecutionRecord, ExecutionState
from mcp_agent.executions.step import Ended, Step, at_fault, failed, lost
from mcp_agent.executions.store import ExecutionStore
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.manager import SessionManager

log = logging.getLogger(__name__)

SLOW_DISK = timedelta(milliseconds=5)
"""A disk that takes longer for a row must not hold up the loop."""
KEPT_FOR = timedelta(days=30)


@dataclass(slots=True, eq=False)
class Running:
    """The work of one execution in this server. `order` says who ends it."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    order: Order | None = None

    def end(self, order: Order) -> None:
        if self.order is None:
            self.order = order
            self.scope.cancel()


@dataclass(slots=True, eq=False)
class Executions:
    """What is acknowledged here is on disk. Work runs in `owner`, driven by the engine."""

    store: ExecutionStore
    sessions: SessionManager
    config: Config
    owner: TaskGroup
    open_engine: OpenEngine
    look_ups: frozenset[str] = frozenset()
    """Tools that every agent has, however few others are configured for it."""
    tools: frozenset[str] | None = None
    """All that sessions can have; None: any name is taken."""
    live_children: LiveChildren = field(default_factory=LiveChildren)
    clock: Callable[[], float] = time.time
    children: Children = field(init=False)
    delivery: Delivery = field(init=False)
    driving: Driving = field(init=False)
    _admission: Admission = field(init=False)
    _deadlines: Deadlines = field(init=False)
    _ending: Ending = field(init=False)
    _moves: Moves = field(init=False)
    _running: dict[str, Running] = field(default_factory=dict)
    _wanted: dict[str, Order] = field(default_factory=dict)
    """Ends that somebody asked for: work that is just being begun finds them here."""
    _locks: dict[str, anyio.Lock] = field(default_factory=dict)
    _changed: anyio.Event = field(default_factory=anyio.Event)

    def __post_init__(self) -> None:
        self.children = Children(self.store, self.sessions)
        self.delivery = Delivery(self.store, self.sessions, self.owner)
        at_once = self.config.executions.concurrency
        self.driving = Driving(self.store, self.open_engine, self._work, self._give_up, at_once)
        self._admission = Admission(self.config, self.sessions.load_adapter, self.look_ups, self.clock, self.tools)
        self._deadlines = Deadlines(self._expire, self.clock)
        self._ending = Ending(self.children)
        self._moves = Moves(self.store, self._has_changed)

    @property
    def trouble(self) -> str | None:
        """Why nothing new begins; None when nothing is in the way."""
        return self.driving.trouble

    @property
    def problems(self) -> list[str]:
        """What is wrong with single executions on record."""
        return [str(error) for error in self.store.unreadable.values()]

    def begin(self) -> None:
        """Go on with what an earlier server left. Sessions were adopted, or are being; the engine opens if needed."""
        for record in self.store.select(states=UNFINISHED):
            self._deadlines.watch(record.id, record.deadline_at)
            self.live_children.add(record)
            if record.state is ExecutionState.CANCELLING:
                self._end_soon(record.id, CANCEL)
        for record in self.store.untold():
            if record.is_finished:
                self.delivery.begin(record)
        self.store.prune(self.clock() - KEPT_FOR.total_seconds())
        self.owner.start_soon(self._deadlines.keep, name="deadlines of executions")
        self.owner.start_soon(self.driving.run, name="drive executions")

    async def start(self, wish: Wish, caller: Caller) -> ExecutionRecord:
        """Acknowledge an execution: it is on disk on return, and nothing of it has begun.

        The same idempotency key answers with the same execution. Raises `UsageError` and its kind, `UnknownAgent`,
        `BadDeadline`, `IdempotencyKeyReused`, `TooDeep`, `QueueFull` and `ExecutionsUnusable`, with nothing started.
        """
        if earlier := await self._earlier(wish, caller):
            return earlier
        record, secrets = self._admission.record_of(wish, caller)
        add = partial(self.store.add, record, secrets, most_unfinished=self.config.executions.most_unfinished)
        await anyio.lowlevel.checkpoint_if_cancelled()
        # On a quick disk the write takes less time than a change of threads.
        quick = self.store.write_seconds < SLOW_DISK.total_seconds()
        kept = add() if quick else await anyio.to_thread.run_sync(add)
        if kept.id == record.id:
            self._tell(kept, "execution.acknowledged")
            self._deadlines.watch(kept.id, kept.deadline_at)
            self.live_children.add(kept)
            self.driving.take(kept)
        return kept

    async def _earlier(self, wish: Wish, caller: Caller) -> ExecutionRecord | None:
        """The execution that this very wish started before, however little of it could be started now."""
        if wish.idempotency_key is None:
            return None
        look = partial(self.store.of_key, wish.idempotency_key, parent=caller.session_id)
        earlier = await anyio.to_thread.run_sync(look)
        if earlier is not None and not self._admission.is_same(wish, caller, earlier):
            raise IdempotencyKeyReused(wish.idempotency_key, earlier.id)
        return earlier

    def caller_of(self, session: LiveSession, *, call_id: str | None) -> Caller:
        """Who a session's tool call stands for. Raises `NotResumable` when what it was started with is not kept."""
        return caller_of(self.store, self.sessions.state, session, call_id=call_id)

    def get(self, execution_id: str) -> ExecutionRecord:
        """Raises `UnknownExecution` and `ExecutionsUnusable`."""
        return self.store.get(execution_id)

    async def wait(self, execution_id: str, *, limit: timedelta) -> ExecutionRecord:
        """The execution once it has ended, or as it is when the limit has passed. Raises as `get` does."""
        with anyio.move_on_after(limit.total_seconds()):
            while True:
                changed, record = self._changed, self.get(execution_id)
                if record.is_finished:
                    return record
                await changed.wait()
        return self.get(execution_id)

    def select(
        self,
        *,
        parent: str | None = None,
        states: Collection[ExecutionState] | None = None,
        limit: int | None = None,
    ) -> list[ExecutionRecord]:
        return self.store.select(parent=parent, states=states, limit=limit)

    async def cancel(self, execution_id: str, *, by: str = "owner") -> bool:
        """Stop an execution, and return when nothing of it runs any more; False when it had ended already.

        Its session is stopped with all its processes. Executions that it started go on. Raises as `get` does, and
        `EndNotWritten` when nothing of it runs any more and the disk does not take that.
        """
        record = self.get(execution_id)
        if record.is_finished:
            return False
        if cancelling := await self._moves.note_cancel(record, by=by):
            self._tell(cancelling, "execution.cancelling")
        await self._end(execution_id, CANCEL)
        while True:
            changed, record = self._changed, self.get(execution_id)
            if record.is_finished:
                return record.state is ExecutionState.CANCELLED
            if error := self._moves.unwritten.get(execution_id):
                raise error
            await changed.wait()

    def descendants(self, session_id: str) -> list[ExecutionRecord]:
        """What the session has started that is not over, and all that this has started in its turn."""
        found, sessions = list[ExecutionRecord](), [session_id]
        for parent in sessions:
            for record in self.store.select(parent=parent):
                if child := self.children.known(record):
                    sessions.append(child.id)
                if not record.is_finished:
                    found.append(record)
        return found

    async def cancel_all(self, records: Collection[ExecutionRecord], *, by: str) -> int:
        """Cancel these, and return when nothing of them runs; how many were not over."""

        async def cancel(execution_id: str) -> None:
            try:
                await self.cancel(execution_id, by=by)
            except ExecutionsUnusable as error:
                log.warning("%s", error)

        async with anyio.create_task_group() as group:
            for record in records:
                group.start_soon(cancel, record.id)
        return len(records)

    async def end_with_parent(self, session_id: str, *, cascade: bool) -> int:
        """The session was stopped: how many executions below it go on, or were cancelled with it."""
        below = await anyio.to_thread.run_sync(self.descendants, session_id)
        return await self.cancel_all(below, by="owner") if cascade else len(below)

    async def cancel_unfinished(self) -> int:
        """Cancel everything, for a server that is told to leave nothing behind."""
        return await self.cancel_all(self.store.select(states=UNFINISHED), by="owner")

    async def _work(self, job: Job) -> str:
        """What the engine runs: an execution to its end, as often as it is asked to."""
        async with self._lock(job.id):
            record = await self._on_record(job.id)
            if record is None:
                return "unknown"
            if not record.is_finished:
                record = await self._to_its_end(record)
            self._locks.pop(job.id, None)
            return record.state

    async def _on_record(self, execution_id: str) -> ExecutionRecord | None:
        """The execution, once it can be read; None when it never can. An engine runs no work again that has raised."""
        while True:
            try:
                return await anyio.to_thread.run_sync(self.get, execution_id)
            except (UnknownExecution, ExecutionUnreadable):
                return None
            except ExecutionsUnusable as error:
                log.warning("execution %s does not begin yet: %s", execution_id, error)
                await anyio.sleep(WRITE_AGAIN_AFTER.total_seconds())

    async def _to_its_end(self, record: ExecutionRecord) -> ExecutionRecord:
        running = self._running[record.id] = Running()
        try:
            if record.state is ExecutionState.CANCELLING:
                running.end(CANCEL)
            elif record.id in self._wanted:
                running.end(self._wanted[record.id])
            elif record.state is ExecutionState.QUEUED:
                begun = await self._moves.move(record.id, ExecutionState.RUNNING, started_at=self.clock())
                if begun is None:
                    return self.get(record.id)
                record = begun
                self._tell(record, "execution.running")
            ended: Ended | None = None
            with running.scope:
                ended = await self._step(record)
            if ended is None:
                ended = await self._ended(record.id, running.order or CANCEL)
            return await self._finish(record.id, ended)
        finally:
            del self._running[record.id]

    async def _step(self, record: ExecutionRecord) -> Ended:
        while True:
            try:
                return await Step(self.children).run(record)
            except (ExecutionsUnusable, StoreUnusable) as error:
                log.warning("execution %s: %s; trying again", record.id, error)
                await anyio.sleep(WRITE_AGAIN_AFTER.total_seconds())
            except Exception:  # foreign code: an installed adapter may raise anything, and it ends no server
                log.exception("execution %s", record.id)
                known = await self._on_record(record.id) or record
                return at_fault(self.sessions.state.log, prompted=not self.children.is_without(known))

    async def _ended(self, execution_id: str, order: Order) -> Ended:
        """Stop what runs; a tmux that does not answer is asked again until it does."""
        while True:
            try:
                record = self.get(execution_id)
                by = record.cancelled_by or self._moves.cancelled_by.get(execution_id)
                return await self._ending.end(replace(record, cancelled_by=by), order)
            except (TmuxUnavailable, ExecutionsUnusable, StoreUnusable) as error:
                if isinstance(error, ExecutionUnreadable):
                    raise
                log.warning("execution %s: %s; trying again", execution_id, error)
                await anyio.sleep(ASK_AGAIN_AFTER.total_seconds())

    def _expire(self, execution_id: str) -> None:
        self._end_soon(execution_id, self._ending.order_of_deadline(execution_id))

    def _end_soon(self, execution_id: str, order: Order) -> None:
        self.owner.start_soon(self._end_however, execution_id, order, name=f"end {execution_id}")

    async def _end_however(self, execution_id: str, order: Order) -> None:
        """What is wrong with one execution ends neither the server nor another one's deadline."""
        while True:
            try:
                return await self._end(execution_id, order)
            except ExecutionsUnusable as error:
                log.warning("execution %s is not ended yet: %s", execution_id, error)
                if isinstance(error, ExecutionUnreadable):
                    return None
            except McpAgentError as error:
                log.warning("execution %s cannot be ended: %s", execution_id, error)
                return None
            await anyio.sleep(WRITE_AGAIN_AFTER.total_seconds())

    async def _end(self, execution_id: str, order: Order) -> None:
        """Have the execution's work end, here or without an engine."""
        self._wanted.setdefault(execution_id, order)
        if running := self._running.get(execution_id):
            running.end(order)
            return
        async with self._lock(execution_id):
            if not self.get(execution_id).is_finished:
                ended = await self._ended(execution_id, order)
                self.owner.start_soon(self._finish, execution_id, ended, name=f"finish {execution_id}")
                await self.driving.forget(execution_id)

    def _give_up(self, record: ExecutionRecord) -> None:
        """The engine's database says that it is over, and ours does not: nobody will run it any more."""
        self.owner.start_soon(self._lose, record.id, name=f"give up {record.id}")

    async def _lose(self, execution_id: str) -> None:
        record = await self._on_record(execution_id)
        if record is not None and record.state is ExecutionState.QUEUED:
            never_ran = "its engine lost it; nothing of it was run"
            await self._finish(execution_id, failed(never_ran, ended_by="engine", owner="mcp-agent"))
        elif record is not None:
            await self._finish(execution_id, lost("its engine lost it", ended_by="engine"))

    async def _finish(self, execution_id: str, ended: Ended) -> ExecutionRecord:
        self._deadlines.forget(execution_id)
        self._locks.pop(execution_id, None)
        record = await self._moves.end(execution_id, ended.state, outcome=ended.outcome, ended_at=self.clock())
        self._wanted.pop(execution_id, None)
        if record is None:
            return self.get(execution_id)
        log.info("execution %s: %s: %s", record.id, record.state, ended.outcome.reason)
        self._tell(record, "execution.ended", ended_by=ended.outcome.ended_by)
        self._has_changed()
        self.delivery.begin(record)
        self.live_children.remove(record)
        self.sessions.nudge(str(record.parent_session))
        return record

    def _has_changed(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def _lock(self, execution_id: str) -> anyio.Lock:
        return self._locks.setdefault(execution_id, anyio.Lock())

    def _tell(self, record: ExecutionRecord, kind: str, **facts: object) -> None:
        """Whoever follows the parent's events, or the child's, hears of it."""
        child = self.children.known(record)
        for session_id in {record.parent_session, child.id if child else None} - {None}:
            self.sessions.store.tell(str(session_id), kind, execution_id=record.id, state=record.state, **facts)
