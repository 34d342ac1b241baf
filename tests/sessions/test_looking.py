"""How soon and how often a screen is looked at, in virtual time."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import pytest
from anyio.lowlevel import checkpoint

from mcp_agent.sessions.looking import BEAT, LOOK_AGAIN_AFTER, REST, SELDOM, SETTLE, Pace

pytestmark = pytest.mark.anyio

MINUTE = timedelta(minutes=1)


class Looker:
    """Looks whenever its pace says so; what it finds is told by the test."""

    def __init__(self) -> None:
        self.pace = Pace()
        self.looks: list[float] = []
        self.news = False
        self.files = False

    async def look(self) -> None:
        while True:
            await self.pace.until_due(lambda: self.files)
            self.looks.append(anyio.current_time())
            self.pace.looked(news=self.news)

    async def spin(self) -> None:
        """A write ten times a second, heard as the pace wants to hear it."""
        while True:
            self.pace.hint()
            await anyio.sleep(max(0.1, self.pace.rest.total_seconds()))

    def looked_within(self, limit: timedelta) -> Callable[[], int]:
        """Counts the looks from now on, once that time has passed."""
        since = anyio.current_time()
        return lambda: sum(since < look <= since + limit.total_seconds() for look in self.looks)


@asynccontextmanager
async def looking() -> AsyncGenerator[tuple[Looker, anyio.abc.TaskGroup]]:
    looker = Looker()
    async with anyio.create_task_group() as group:
        group.start_soon(looker.look)
        yield looker, group
        group.cancel_scope.cancel()


async def looks_in(looker: Looker, limit: timedelta) -> int:
    count = looker.looked_within(limit)
    await anyio.sleep(limit.total_seconds())
    return count()


async def test_a_screen_is_read_once_it_has_settled() -> None:
    async with looking() as (looker, _):
        began = anyio.current_time()
        for _ in range(3):
            looker.pace.hint()
            await anyio.sleep(SETTLE.total_seconds() / 2)
        await anyio.sleep(1)
        assert len(looker.looks) == 1
        assert looker.looks[0] - began == pytest.approx(2 * SETTLE.total_seconds())


async def test_a_screen_that_turns_without_news_is_read_ever_more_seldom() -> None:
    async with looking() as (looker, group):
        group.start_soon(looker.spin)
        assert await looks_in(looker, timedelta(seconds=2)) >= 3
        await anyio.sleep(20)
        assert await looks_in(looker, MINUTE) <= MINUTE / SELDOM + 1


async def test_a_turning_screen_that_brings_news_is_read_often() -> None:
    async with looking() as (looker, group):
        looker.news = True
        group.start_soon(looker.spin)
        await anyio.sleep(60)
        assert await looks_in(looker, MINUTE) >= 100


async def test_a_screen_that_stops_turning_is_read_soon() -> None:
    async with looking() as (looker, group):
        with anyio.CancelScope() as spinning:
            group.start_soon(stop_after, spinning)
            await looker.spin()
        stopped = looker.looked_within(2 * REST + SETTLE)
        await anyio.sleep((2 * REST + SETTLE).total_seconds())
        assert stopped() >= 1


async def stop_after(scope: anyio.CancelScope) -> None:
    await anyio.sleep(30)
    scope.cancel()


async def test_what_is_told_is_looked_at_soon_whatever_turns() -> None:
    async with looking() as (looker, group):
        group.start_soon(looker.spin)
        await anyio.sleep(30)
        looker.pace.told()
        assert await looks_in(looker, timedelta(seconds=0.6)) == 1
        assert await looks_in(looker, timedelta(seconds=3)) >= 3


async def test_without_any_hint_it_looks_after_a_beat_and_then_seldom() -> None:
    async with looking() as (looker, _):
        assert await looks_in(looker, BEAT + SETTLE) == 1
        assert await looks_in(looker, timedelta(hours=1)) == timedelta(hours=1) / LOOK_AGAIN_AFTER


async def test_what_stands_in_files_is_found_by_the_next_beat() -> None:
    async with looking() as (looker, _):
        await anyio.sleep((10 * LOOK_AGAIN_AFTER + BEAT + SETTLE).total_seconds())
        looker.files = True
        assert await looks_in(looker, BEAT + SETTLE) >= 1


async def test_sessions_wake_up_together() -> None:
    async with looking() as (first, _):
        await anyio.sleep(1.7)
        async with looking() as (second, _):
            await anyio.sleep(0.9)
            async with looking() as (third, _):
                await anyio.sleep(BEAT.total_seconds())
                await checkpoint()
                assert first.looks[0] == pytest.approx(second.looks[0])
                assert second.looks[0] == pytest.approx(third.looks[0])
