"""An engine that is open only while something begins or ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import pytest

from mcp_agent.executions.driving import Driving
from mcp_agent.executions.engine import Engine, Job, OpenEngine, Progress, Work
from mcp_agent.executions.memory_engine import MemoryDatabase, MemoryEngine, memory_engine
from mcp_agent.executions.records import Child, ExecutionRecord, ExecutionState
from mcp_agent.executions.store import ChildSecrets, ExecutionStore
from mcp_agent.sessions.input.messages import Changes
from tests.server.conftest import BOUND_SECONDS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.executions.conftest import Engines

pytestmark = pytest.mark.anyio

S = ExecutionState


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LINGERS_FOR", "TOLD_AFTER"):
        monkeypatch.setattr(f"mcp_agent.executions.driving.{name}", timedelta(seconds=0.3))


@dataclass
class Yard:
    """Executions whose work ends when the test says so, and an engine of which it is known whether it is open."""

    store: ExecutionStore
    opens: OpenEngine
    concurrency: int = 1
    ends: dict[str, anyio.Event] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    running: set[str] = field(default_factory=set)
    given_up: list[str] = field(default_factory=list)
    is_open: bool = False
    opened: int = 0
    on_ask: Callable[[str], Awaitable[object]] = lambda _: anyio.lowlevel.checkpoint()
    """Stands between the engine and the work that it asks for."""
    on_closing: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint
    changes: Changes = field(default_factory=Changes)

    @asynccontextmanager
    async def engine(self, work: Work) -> AsyncGenerator[Engine]:
        async def ask(job: Job) -> str:
            await self.on_ask(job.id)
            return await work(job)

        async with self.opens(ask) as engine:
            self.opened += 1
            self.mark(is_open=True)
            yield engine
            await self.on_closing()
        self.mark(is_open=False)

    def mark(self, *, is_open: bool) -> None:
        self.is_open = is_open
        self.changes.tell()

    async def work(self, job: Job) -> str:
        if (await self.known(job.id)).is_finished:
            return "over"
        self.begun.append(job.id)
        self.running.add(job.id)
        assert len(self.running) <= self.concurrency
        await anyio.to_thread.run_sync(lambda: self.store.move(job.id, S.RUNNING))
        self.changes.tell()
        await self.ends.setdefault(job.id, anyio.Event()).wait()
        await anyio.to_thread.run_sync(lambda: self.store.move(job.id, S.SUCCEEDED))
        self.running.discard(job.id)
        self.changes.tell()
        return "done"

    async def known(self, execution_id: str) -> ExecutionRecord:
        return await anyio.to_thread.run_sync(self.store.get, execution_id)

    @asynccontextmanager
    async def driving(self) -> AsyncGenerator[Driving]:
        driving = Driving(
            self.store, self.engine, self.work, lambda record: self.given_up.append(record.id), self.concurrency
        )
        async with anyio.create_task_group() as group:
            group.start_soon(driving.run)
            yield driving
            group.cancel_scope.cancel()

    def acknowledged(self, *ids: str) -> list[ExecutionRecord]:
        child = Child("plain", self.store.path.parent)
        records = [ExecutionRecord(each, "", child, "", float(number)) for number, each in enumerate(ids)]
        return [self.store.add(record, ChildSecrets({}, None), most_unfinished=10) for record in records]

    def end(self, execution_id: str) -> None:
        self.ends.setdefault(execution_id, anyio.Event()).set()

    async def until(self, condition: Callable[[], bool]) -> None:
        with anyio.fail_after(BOUND_SECONDS):
            while not condition():
                await self.changes.next.wait()

    async def until_it_waits_with(self, *begun: str) -> None:
        """These have begun, and the engine is closed."""
        await self.until(lambda: self.begun == list(begun) and not self.is_open)


@pytest.fixture
def make_yard(short_tmp: Path) -> Iterator[Callable[[OpenEngine], Yard]]:
    with ExecutionStore.open(short_tmp / "executions.sqlite") as store:
        yield lambda opens: Yard(store, opens)


async def test_an_engine_is_closed_while_work_waits_and_hears_of_its_end(
    engines: Engines, make_yard: Callable[[OpenEngine], Yard]
) -> None:
    yard = make_yard(engines(1))
    async with yard.driving() as driving:
        for record in yard.acknowledged("x-1"):
            driving.take(record)
        await yard.until_it_waits_with("x-1")
        opened = yard.opened
        yard.end("x-1")
        await yard.until(lambda: yard.opened > opened and not yard.is_open)
    assert (yard.begun, yard.given_up) == (["x-1"], [])
    async with engines(1)(yard.work) as engine:
        assert await engine.list() == []


async def test_what_waits_for_room_begins_when_work_ends_that_outlived_its_engine(
    engines: Engines, make_yard: Callable[[OpenEngine], Yard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent.executions.driving.TOLD_AFTER", timedelta(hours=1))
    yard = make_yard(engines(1))
    async with yard.driving() as driving:
        for record in yard.acknowledged("x-1", "x-2"):
            driving.take(record)
        await yard.until_it_waits_with("x-1")
        yard.end("x-1")
        await yard.until_it_waits_with("x-1", "x-2")
        yard.end("x-2")
        await yard.until(lambda: not yard.running)
    assert (yard.begun, yard.given_up) == (["x-1", "x-2"], [])


async def test_an_execution_that_is_acknowledged_while_the_engine_is_closed_begins(
    make_yard: Callable[[OpenEngine], Yard],
) -> None:
    yard = make_yard(memory_engine(MemoryDatabase(), concurrency=2))
    yard.concurrency = 2
    async with yard.driving() as driving:
        for name in ("x-1", "x-2"):
            driving.take(yard.acknowledged(name)[0])
            await yard.until(lambda name=name: name in yard.begun and not yard.is_open)  # type: ignore[misc]
    assert yard.begun == ["x-1", "x-2"]


async def test_work_that_ends_as_the_engine_is_closed_makes_room(make_yard: Callable[[OpenEngine], Yard]) -> None:
    yard = make_yard(memory_engine(MemoryDatabase(), concurrency=1))
    closing = anyio.Event()

    async def end_first() -> None:
        closing.set()
        yard.end("x-1")
        await yard.until(lambda: not yard.running)
        await anyio.wait_all_tasks_blocked()

    async def begin_nothing_more(_: str) -> None:
        if closing.is_set() and yard.opened == 1:
            await anyio.sleep_forever()

    yard.on_closing, yard.on_ask = end_first, begin_nothing_more
    async with yard.driving() as driving:
        for record in yard.acknowledged("x-1", "x-2"):
            driving.take(record)
        await yard.until(lambda: not yard.is_open and yard.opened == 1)
        yard.on_closing = anyio.lowlevel.checkpoint
        await yard.until(lambda: yard.begun == ["x-1", "x-2"])


async def test_an_engine_is_not_closed_before_it_has_begun_what_it_was_given(
    make_yard: Callable[[OpenEngine], Yard], monkeypatch: pytest.MonkeyPatch
) -> None:
    yard, looks, list_jobs = make_yard(memory_engine(MemoryDatabase(), concurrency=1)), list[int](), MemoryEngine.list

    async def look(engine: MemoryEngine) -> list[Progress]:
        looks.append(yard.opened)
        yard.changes.tell()
        return await list_jobs(engine)

    monkeypatch.setattr(MemoryEngine, "list", look)
    yard.on_ask = lambda _: yard.until(lambda: len(looks) > 2)
    async with yard.driving() as driving:
        driving.take(yard.acknowledged("x-1")[0])
        await yard.until_it_waits_with("x-1")
    assert set(looks) == {1}


async def test_what_an_engine_forgot_while_it_is_open_is_handed_over_again(
    make_yard: Callable[[OpenEngine], Yard],
) -> None:
    database, asked = MemoryDatabase(), list[str]()
    yard = make_yard(memory_engine(database, concurrency=1))

    async def forget_once(job_id: str) -> None:
        asked.append(job_id)
        if len(asked) == 1:
            database.jobs.clear()
            database.known.clear()
            await anyio.sleep_forever()

    yard.on_ask = forget_once
    async with yard.driving() as driving:
        driving.take(yard.acknowledged("x-1")[0])
        await yard.until_it_waits_with("x-1")
    assert (asked, yard.opened) == (["x-1", "x-1"], 1)


async def test_what_an_engine_forgot_while_it_was_closed_is_handed_over_again(
    make_yard: Callable[[OpenEngine], Yard],
) -> None:
    database = MemoryDatabase()
    yard = make_yard(memory_engine(database, concurrency=1))
    async with yard.driving() as driving:
        for record in yard.acknowledged("x-1", "x-2"):
            driving.take(record)
        await yard.until_it_waits_with("x-1")
        database.jobs.clear()
        database.known.clear()
        yard.end("x-1")
        await yard.until_it_waits_with("x-1", "x-2")
    assert yard.begun == ["x-1", "x-2"]


async def test_a_database_that_is_away_when_work_ends_is_told_later(
    make_yard: Callable[[OpenEngine], Yard], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent.executions.driving.TRY_AGAIN_AFTER", timedelta(seconds=0.05))
    database = MemoryDatabase()
    yard = make_yard(memory_engine(database, concurrency=1))
    async with yard.driving() as driving:
        for record in yard.acknowledged("x-1", "x-2"):
            driving.take(record)
        await yard.until_it_waits_with("x-1")
        database.away = True
        yard.end("x-1")
        with anyio.fail_after(BOUND_SECONDS):
            while driving.trouble is None:
                await anyio.lowlevel.checkpoint()
        database.away = False
        await yard.until_it_waits_with("x-1", "x-2")
        assert driving.trouble is None
