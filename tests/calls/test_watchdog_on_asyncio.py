"""What the watchdog owes to the event loop that the server runs on."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.calls.outcomes import Answered, Cancelled, StoppedWaiting

if TYPE_CHECKING:
    from tests.calls.conftest import Watch

pytestmark = pytest.mark.anyio

MOMENT = timedelta(milliseconds=1)


class Held:
    """Work that goes on until it is released."""

    def __init__(self) -> None:
        self.started, self.release, self.cleaned_up = anyio.Event(), anyio.Event(), anyio.Event()

    async def __call__(self) -> str:
        self.started.set()
        try:
            await self.release.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            self.cleaned_up.set()
            raise
        return "done"


async def test_work_outlives_its_wait_and_its_outcome_is_told(watched: Watch) -> None:
    work = Held()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as owner:
            assert isinstance(await watched(owner, work, MOMENT), StoppedWaiting)
            work.release.set()
    assert watched.late == [Answered("done")]


async def test_a_cancelled_caller_takes_its_work_along(watched: Watch) -> None:
    work = Held()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as owner, anyio.create_task_group() as request:
            request.start_soon(watched, owner, work)
            await work.started.wait()
            request.cancel_scope.cancel()
    assert work.cleaned_up.is_set()
    assert [type(outcome) for outcome in watched.late] == [Cancelled]


async def test_a_caller_that_is_cancelled_as_a_plain_task_takes_its_work_along(watched: Watch) -> None:
    work = Held()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as owner:
            task = asyncio.ensure_future(watched(owner, work))
            await work.started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert work.cleaned_up.is_set()


@pytest.mark.contract("C6")
async def test_a_stop_between_a_result_and_its_arrival_wins_and_the_result_is_told(watched: Watch) -> None:
    async def work() -> str:
        asyncio.get_running_loop().call_soon(scope.cancel)
        return "done"

    async with anyio.create_task_group() as owner:
        with anyio.CancelScope() as scope:
            await watched(owner, work, on_slow=None)
    assert scope.cancelled_caught
    assert watched.late == [Answered("done")]


async def test_work_of_a_caller_cancelled_at_once_never_starts(watched: Watch) -> None:
    work = Held()
    async with anyio.create_task_group() as owner, anyio.create_task_group() as request:
        request.start_soon(watched, owner, work)
        request.cancel_scope.cancel()
    assert not work.started.is_set()


async def test_work_that_raises_a_cancellation_of_its_own_neither_hangs_nor_stops_its_caller(watched: Watch) -> None:
    async def work() -> str:
        raise asyncio.CancelledError

    with anyio.fail_after(10):
        async with anyio.create_task_group() as owner:
            assert isinstance(await watched(owner, work), Cancelled)
            assert await watched(owner, answer) == Answered("still here")


async def answer() -> str:
    return "still here"
