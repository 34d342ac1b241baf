"""What every engine promises: one contract over the double, and over DBOS on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import EngineUnavailable, UnknownExecution
from mcp_agent.executions.dbos_engine import DbosSettings, dbos_engine
from mcp_agent.executions.engine import Job, JobState, Progress
from mcp_agent.executions.memory_engine import MemoryDatabase, memory_engine

if TYPE_CHECKING:
    from pathlib import Path

    from tests.executions.conftest import Engines, Postgres

pytestmark = pytest.mark.anyio

BOUND_SECONDS = 30


@dataclass
class Works:
    """Work that begins when the engine says so, and ends when the test does."""

    gate: anyio.Event = field(default_factory=anyio.Event)
    begun: list[str] = field(default_factory=list)
    running: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    news: anyio.Event = field(default_factory=anyio.Event)

    async def run(self, job: Job) -> str:
        self.begun.append(job.id)
        self.running[job.lane] += 1
        self.most[job.lane] = max(self.most[job.lane], self.running[job.lane])
        self.news.set()
        self.news = anyio.Event()
        try:
            await self.gate.wait()
            if job.payload == "bad":
                raise ValueError("the work is broken")
            return f"{job.payload} is done"
        finally:
            self.running[job.lane] -= 1

    async def until_begun(self, count: int) -> None:
        with anyio.fail_after(BOUND_SECONDS):
            while len(self.begun) < count:
                await self.news.wait()


@pytest.fixture(autouse=True)
async def bounded(anyio_backend: str) -> None:
    assert anyio_backend == "asyncio"


async def test_a_job_is_run_once_to_its_result_however_often_it_is_handed_over(engines: Engines) -> None:
    works = Works()
    works.gate.set()
    async with engines()(works.run) as engine:
        await engine.start(Job("x-1", "one"))
        await engine.start(Job("x-1", "one"))
        with anyio.fail_after(BOUND_SECONDS):
            assert await engine.wait("x-1") == Progress("x-1", JobState.DONE, "one is done")
        await engine.start(Job("x-1", "another"))
        assert await engine.get("x-1") == Progress("x-1", JobState.DONE, "one is done")
    assert works.begun == ["x-1"]


async def test_jobs_of_one_lane_wait_for_each_other_and_for_no_other_lane(engines: Engines) -> None:
    works = Works()
    async with engines(2)(works.run) as engine:
        for number in range(5):
            await engine.start(Job(f"x-{number}", "", lane="1"))
        await engine.start(Job("y-0", "", lane="2"))
        await works.until_begun(3)
        lanes = {known.id: known.lane for known in await engine.list()}
        assert lanes == {"x-0": "1", "x-1": "1", "x-2": "1", "x-3": "1", "x-4": "1", "y-0": "2"}
        works.gate.set()
        with anyio.fail_after(BOUND_SECONDS):
            for number in range(5):
                await engine.wait(f"x-{number}")
    assert works.most == {"1": 2, "2": 1}
    assert sorted(works.begun) == ["x-0", "x-1", "x-2", "x-3", "x-4", "y-0"]


async def test_jobs_that_wait_begin_in_their_order_and_not_in_that_of_their_names(engines: Engines) -> None:
    works, names = Works(), [f"x-{number * 7 % 10}" for number in range(10)]
    async with engines(1)(works.run) as engine:
        for order, name in enumerate(names, 1):
            await engine.start(Job(name, "", order=order))
        await works.until_begun(1)
        works.gate.set()
        await works.until_begun(10)
    assert works.begun == names


async def test_work_that_was_broken_off_and_what_waited_are_run_by_the_next_engine(engines: Engines) -> None:
    first, second = Works(), Works()
    second.gate.set()
    async with engines(1)(first.run) as engine:
        await engine.start(Job("x-1", "one"))
        await first.until_begun(1)
        await engine.start(Job("x-2", "two"))
    async with engines(1)(second.run) as engine:
        with anyio.fail_after(BOUND_SECONDS):
            results = [(await engine.wait(job)).result for job in ("x-1", "x-2")]
    assert results == ["one is done", "two is done"]
    assert (first.begun, sorted(second.begun)) == (["x-1"], ["x-1", "x-2"])


async def test_a_job_that_is_cancelled_before_it_began_never_begins(engines: Engines) -> None:
    works = Works()
    async with engines(1)(works.run) as engine:
        await engine.start(Job("x-1", "one"))
        await works.until_begun(1)
        await engine.start(Job("x-2", "two"))
        assert await engine.cancel("x-2")
        assert not await engine.cancel("x-2")
        assert not await engine.cancel("x-3")
        works.gate.set()
        with anyio.fail_after(BOUND_SECONDS):
            assert (await engine.wait("x-1")).state is JobState.DONE
            assert (await engine.wait("x-2")).state is JobState.CANCELLED
        assert await engine.list() == []
    assert works.begun == ["x-1"]


async def test_work_that_raises_fails_and_is_not_run_again(engines: Engines) -> None:
    works = Works()
    works.gate.set()
    for _ in range(2):
        async with engines()(works.run) as engine:
            await engine.start(Job("x-1", "bad"))
            with anyio.fail_after(BOUND_SECONDS):
                assert await engine.wait("x-1") == Progress("x-1", JobState.FAILED)
    assert works.begun == ["x-1"]


async def test_a_job_that_was_never_started_is_not_known(engines: Engines) -> None:
    async with engines()(Works().run) as engine:
        assert await engine.get("x-0") is None
        with pytest.raises(UnknownExecution):
            await engine.wait("x-0")


async def test_a_database_that_is_away_when_it_is_opened_is_one_clear_error(short_tmp: Path) -> None:
    away = [
        memory_engine(MemoryDatabase(away=True), concurrency=1),
        dbos_engine(DbosSettings(f"sqlite:///{short_tmp}/nowhere/x.sqlite", "nowhere", "e", 1)),
    ]
    for open_engine in away:
        with pytest.raises(EngineUnavailable) as caught:
            async with open_engine(Works().run):
                pass
        assert "\n" not in str(caught.value)


async def test_two_servers_on_one_database_run_their_own_jobs(postgres: Postgres) -> None:
    url = postgres.make_database().replace("postgresql://", "postgresql+psycopg://")
    first, second = Works(), Works()
    second.gate.set()
    async with dbos_engine(DbosSettings(url, "the test's", "one", 1))(first.run) as engine:
        await engine.start(Job("x-1", "one"))
        await first.until_begun(1)
        await engine.start(Job("x-2", "two"))
    async with dbos_engine(DbosSettings(url, "the test's", "two", 1))(second.run) as engine:
        await engine.start(Job("x-3", "three"))
        with anyio.fail_after(BOUND_SECONDS):
            await engine.wait("x-3")
    assert second.begun == ["x-3"]


async def test_a_postgres_that_goes_away_is_one_clear_error_and_what_it_took_is_not_lost(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent.executions.dbos_engine.ANSWERS_WITHIN", timedelta(seconds=2))
    url = postgres.make_database().replace("postgresql://", "postgresql+psycopg://")
    settings, works = DbosSettings(url, "the test's", "executor-1", 1), Works()
    async with dbos_engine(settings)(works.run) as engine:
        await engine.start(Job("x-1", "one"))
        await works.until_begun(1)
        await anyio.to_thread.run_sync(postgres.stop)
        try:
            with pytest.raises(EngineUnavailable) as caught:
                await engine.start(Job("x-2", "two"))
        finally:
            await anyio.to_thread.run_sync(postgres.start)
        assert "the test's" in str(caught.value)
        assert url not in str(caught.value)
        works.gate.set()
        await engine.start(Job("x-2", "two"))
        with anyio.fail_after(BOUND_SECONDS):
            assert (await engine.wait("x-1")).result == "one is done"
            assert (await engine.wait("x-2")).result == "two is done"
