"""From a launched CLI to its first prompt, in virtual time."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import PromptReadyTimedOut, SessionEnded
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.starting.coming_up import wait_ready
from mcp_agent.timeouts import PromptReady

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = pytest.mark.anyio

LIMITS = PromptReady(timedelta(minutes=5), None)
BOTH_LIMITS = PromptReady(timedelta(minutes=10), timedelta(minutes=90))
PROMPT = ("> ", "---")


async def bring_bridge_up(session: LiveSession, after: timedelta = timedelta(0)) -> None:
    await anyio.sleep(after.total_seconds())
    session.bridge_is_up()


@pytest.mark.contract("S4", "B6")
async def test_a_prompt_alone_is_not_ready_before_the_bridge_is_up(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:
        pane.show(*PROMPT)
        group.start_soon(bring_bridge_up, session, timedelta(minutes=2))
        started = anyio.current_time()

        assert await wait_ready(session, LIMITS) == "ready"
        assert anyio.current_time() - started >= 120


@pytest.mark.contract("S4", "B6")
async def test_a_bridge_that_never_comes_up_ends_the_start_at_the_bound(bench: Bench) -> None:
    async with bench.observed() as (session, pane):
        pane.show(*PROMPT)

        with pytest.raises(PromptReadyTimedOut, match="inactivity") as caught:
            await wait_ready(session, LIMITS)
        assert caught.value.limit == timedelta(minutes=5)
        assert "> " in caught.value.screen


@pytest.mark.contract("S4", "T10")
async def test_a_start_with_progress_goes_on_for_hours(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:
        session.bridge_is_up()

        async def install() -> None:
            for step in range(60):
                pane.show(f"installing {'o' * step}")
                await anyio.sleep(240)
            pane.show(*PROMPT)

        group.start_soon(install)

        assert await wait_ready(session, LIMITS) == "ready"
        assert anyio.current_time() >= 4 * 3600


@pytest.mark.contract("S4")
async def test_a_spinner_does_not_hold_a_start_open(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:

        async def spin() -> None:
            for second in range(1000):
                pane.show(f"{'⠋⠙⠹⠸'[second % 4]} connecting ({second}s)")
                await anyio.sleep(1)

        group.start_soon(spin)
        started = anyio.current_time()

        with pytest.raises(PromptReadyTimedOut):
            await wait_ready(session, LIMITS)
        assert 300 <= anyio.current_time() - started < 302
        group.cancel_scope.cancel()


@pytest.mark.contract("S4")
async def test_the_absolute_bound_ends_a_start_whatever_goes_on(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:

        async def babble() -> None:
            for step in range(1000):
                pane.show("o" * step)
                await anyio.sleep(60)

        group.start_soon(babble)

        with pytest.raises(PromptReadyTimedOut, match="absolute") as caught:
            await wait_ready(session, BOTH_LIMITS)
        assert caught.value.limit == timedelta(minutes=90)
        group.cancel_scope.cancel()


@pytest.mark.contract("S4")
async def test_readiness_in_the_moment_of_the_bound_is_ready(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:
        pane.show(*PROMPT)
        await session.look()
        group.start_soon(bring_bridge_up, session, LIMITS.inactivity)

        assert await wait_ready(session, LIMITS) == "ready"


@pytest.mark.contract("S4")
async def test_a_handled_dialog_restarts_the_inactivity_bound(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:
        session.bridge_is_up()
        pane.show("one moment")

        async def go_on() -> None:
            await anyio.sleep(290)
            bench.dialog(pane, "news", ("Continue",)).next_screen = ("one moment",)
            await anyio.sleep(290)
            pane.show(*PROMPT)

        group.start_soon(go_on)

        assert await wait_ready(session, LIMITS) == "ready"


@pytest.mark.contract("S4")
async def test_a_cli_that_exits_ends_the_start_at_once_with_its_last_line(bench: Bench) -> None:
    async with bench.observed() as (session, pane):
        pane.show("Error: no such model", "")
        pane.exit(7)
        started = anyio.current_time()

        with pytest.raises(SessionEnded, match=r"exited \(status 7\); the end of its screen: Error: no such model"):
            await wait_ready(session, LIMITS)
        assert anyio.current_time() - started < 1


@pytest.mark.contract("S4")
async def test_a_pane_that_goes_away_ends_the_start_at_once(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:

        async def vanish() -> None:
            await anyio.sleep(60)
            pane.vanish()

        group.start_soon(vanish)

        with pytest.raises(SessionEnded, match="lost"):
            await wait_ready(session, LIMITS)
        assert anyio.current_time() < 70


@pytest.mark.contract("S4")
async def test_a_terminal_that_does_not_answer_for_a_while_ends_no_start(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:
        session.bridge_is_up()
        bench.dialog(pane, "news", ("Continue",))
        await session.look()
        bench.terminal.available = False

        async def come_back() -> None:
            await anyio.sleep(100)
            bench.terminal.available = True

        group.start_soon(come_back)

        assert await wait_ready(session, LIMITS) == "ready"


async def test_a_question_of_the_cli_itself_is_left_to_a_person(bench: Bench) -> None:
    async with bench.observed() as (session, pane):
        session.bridge_is_up()
        pane.show("[permission?]")

        assert await wait_ready(session, LIMITS) == "waiting"


@pytest.mark.contract("S4", "S7")
@pytest.mark.parametrize(("elapsed_minutes", "left_seconds"), [(2, 180), (4, 60), (600, 30)])
async def test_a_launch_of_earlier_has_what_is_left_of_its_bound_and_half_a_minute_at_least(
    bench: Bench, elapsed_minutes: int, left_seconds: int
) -> None:
    async with bench.observed() as (session, pane):
        pane.show("warming up")
        await session.look()
        started = anyio.current_time()
        with pytest.raises(PromptReadyTimedOut, match="inactivity"):
            await wait_ready(session, LIMITS, elapsed=timedelta(minutes=elapsed_minutes))
        assert anyio.current_time() - started == pytest.approx(left_seconds, abs=1)


@pytest.mark.contract("S4", "S7")
async def test_progress_after_a_restart_counts_but_for_the_absolute_bound(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:
        pane.show("warming up")
        await session.look()
        started = anyio.current_time()

        async def install() -> None:
            await anyio.sleep(20)
            for step in range(60):
                pane.show(f"installing {'o' * step}")
                await anyio.sleep(300)

        group.start_soon(install)
        with pytest.raises(PromptReadyTimedOut, match="absolute"):
            await wait_ready(session, BOTH_LIMITS, elapsed=timedelta(minutes=40))
        assert anyio.current_time() - started == pytest.approx(50 * 60, abs=1)
        group.cancel_scope.cancel()
