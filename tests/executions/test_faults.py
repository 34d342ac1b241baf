"""A fault of ours ends one execution, in words for people: `failed` when nobody was given its prompt."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_agent.config import Config
from mcp_agent.executions.asking import Caller, Wish
from mcp_agent.executions.memory_engine import MemoryDatabase, memory_engine
from mcp_agent.executions.records import ExecutionRecord
from mcp_agent.executions.service import Executions
from mcp_agent.executions.step import Step
from mcp_agent.executions.store import ExecutionStore
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
