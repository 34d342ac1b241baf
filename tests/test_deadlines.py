"""Deadlines in virtual time: absolute epochs, and a clock that jumps."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest
import trio.testing

from mcp_agent.deadlines import GRACE, Deadlines

pytestmark = [pytest.mark.anyio, pytest.mark.contract("E4")]

EPOCH = 1_000_000.0


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@dataclass
class Clock:
    """A wall clock that somebody may set."""

    ahead: float = 0.0
    began: float = field(default_factory=anyio.current_time)
    fired: dict[str, float] = field(default_factory=dict)

    def now(self) -> float:
        return EPOCH + self.passed() + self.ahead

    def passed(self) -> float:
        return anyio.current_time() - self.began

    def fire(self, key: str) -> None:
        self.fired[key] = round(self.passed(), 1)


@asynccontextmanager
async def kept() -> AsyncGenerator[tuple[Deadlines, Clock]]:
    clock = Clock()
    deadlines = Deadlines(clock.fire, clock.now)
    async with anyio.create_task_group() as group:
        group.start_soon(deadlines.keep)
        yield deadlines, clock
        group.cancel_scope.cancel()


def due_in(name: str, seconds: float) -> tuple[str, float]:
    return name, EPOCH + seconds


async def test_each_key_is_told_of_at_its_own_deadline_and_once() -> None:
    async with kept() as (deadlines, clock):
        for name, seconds in (("x-long", 7200), ("x-short", 10), ("x-past", -5)):
            deadlines.watch(*due_in(name, seconds))
        await anyio.sleep(20_000)
        assert clock.fired == {"x-past": 0.0, "x-short": 10.0, "x-long": 7200.0}


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), float("-inf")])
async def test_a_deadline_that_is_no_time_is_in_no_other_one_s_way(broken: float) -> None:
    async with kept() as (deadlines, clock):
        deadlines.watch(*due_in("broken", broken))
        deadlines.watch(*due_in("sound", 60))
        await anyio.sleep(100)
    assert clock.fired == {"sound": 60}


async def test_one_that_has_ended_is_not_told_of() -> None:
    async with kept() as (deadlines, clock):
        deadlines.watch(*due_in("x-1", 10))
        deadlines.watch(*due_in("x-2", 20))
        deadlines.forget("x-1")
        deadlines.forget("x-3")
        await anyio.sleep(100)
        assert clock.fired == {"x-2": 20.0}


async def test_a_clock_that_jumps_ahead_leaves_time_to_finish() -> None:
    async with kept() as (deadlines, clock):
        deadlines.watch(*due_in("x-1", 3600))
        await anyio.sleep(100)
        clock.ahead = 7200
        await anyio.sleep(25)
        assert clock.fired == {}
        await anyio.sleep(GRACE.total_seconds() + 31)
        assert list(clock.fired) == ["x-1"]
        assert clock.fired["x-1"] >= 100 + GRACE.total_seconds()


async def test_a_clock_that_is_set_back_is_believed() -> None:
    async with kept() as (deadlines, clock):
        deadlines.watch(*due_in("x-1", 100))
        await anyio.sleep(50)
        clock.ahead = -1000
        await anyio.sleep(200)
        assert clock.fired == {}
        await anyio.sleep(1000)
        assert clock.fired == {"x-1": 1100.0}
