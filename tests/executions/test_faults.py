"""A fault of ours ends one execution, in words for people: `failed` when nobody was given its prompt."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_agent.config import Config
from mcp_agent.errors import ExecutionsUnusable
from mcp_agent.executions.asking import Caller, Wish
from mcp_agent.executions.engine import JobState, Progress
from mcp_agent.executions.memory_engine import MemoryDatabase, memory_engine
from mcp_agent.executions.records import Child, ExecutionRecord
from mcp_agent.executions.service import Executions
from mcp_agent.executions.step import Step
from mcp_agent.executions.store import ChildSecrets, ExecutionStore
from mcp_agent.sessions.live import LiveSession
from mcp_agent.state import StateDirectory
from tests.sessions.conftest import Bench, Plain
from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("E3")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def house(short_tmp: Path) -> House:
    house = House(StateDirectory(short_tmp / "state"), Bench(short_tmp))
    house.terminal.program = lambda pane: pane.show("> ", "---")
    return house


@asynccontextmanager
async def executions_of(house: House) -> AsyncGenerator[Executions]:
    house.state.root.mkdir(mode=0o700)
    engine = memory_engine(MemoryDatabase(), concurrency=1)
    with ExecutionStore.open(house.state.executions) as store:
        async with house.server() as manager:
            executions = Executions(store, manager, Config(), manager.owner, engine)
            executions.begin()
            yield executions


async def ended(house: House) -> ExecutionRecord:
    async with executions_of(house) as executions:
        begun = await executions.start(Wish("do it", provider="plain"), Caller(house.options()))
        return await executions.wait(begun.id, limit=timedelta(seconds=30))


async def test_a_fault_before_the_cli_was_started_is_a_failure_that_names_the_log(house: House) -> None:
    house.bench.adapter = Plain()
    house.bench.adapter.fault = TypeError("a fault")
    record = await ended(house)
    assert record.outcome is not None
    assert (record.state, record.outcome.owner) == ("failed", "mcp-agent")
    assert str(house.state.log) in record.outcome.reason
    assert "nothing of it was run" in record.outcome.reason
    assert "Error" not in record.outcome.reason


async def test_a_fault_once_a_session_may_have_the_prompt_leaves_it_lost(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_: Step, __: LiveSession, ___: ExecutionRecord) -> None:
        raise TypeError("a fault")

    monkeypatch.setattr(Step, "_prompt", broken)
    record = await ended(house)
    assert record.outcome is not None
    assert (record.state, record.outcome.owner) == ("lost", "mcp-agent")
    assert str(house.state.log) in record.outcome.reason
    assert "Error" not in record.outcome.reason


async def test_a_record_that_cannot_be_read_as_its_work_begins_delays_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent.executions.service.WRITE_AGAIN_AFTER", timedelta(seconds=0.05))
    read, troubles = ExecutionStore.get, [ExecutionsUnusable(Path("x"), "the disk reports an error")] * 2

    def get(store: ExecutionStore, execution_id: str) -> ExecutionRecord:
        if threading.current_thread() is not threading.main_thread() and troubles:
            raise troubles.pop()
        return read(store, execution_id)

    monkeypatch.setattr(ExecutionStore, "get", get)
    house.bench.adapter = Plain()
    house.bench.adapter.fault = TypeError("a fault")
    record = await ended(house)
    assert (troubles, record.state, record.started_at is not None) == ([], "failed", True)


async def test_what_an_engine_ended_before_it_began_is_a_failure_of_which_nothing_ran(house: House) -> None:
    database = MemoryDatabase()
    house.state.root.mkdir(mode=0o700)
    with ExecutionStore.open(house.state.executions) as store:
        queued = ExecutionRecord("x-1", "", Child("plain", house.state.root), "", 1.0)
        store.add(queued, ChildSecrets({}, None), most_unfinished=1)
        database.known["x-1"] = Progress("x-1", JobState.FAILED)
        async with house.server() as manager:
            executions = Executions(store, manager, Config(), manager.owner, memory_engine(database, concurrency=1))
            executions.begin()
            record = await executions.wait("x-1", limit=timedelta(seconds=30))
    assert record.outcome is not None
    assert (record.state, record.outcome.reason) == ("failed", "its engine lost it; nothing of it was run")
