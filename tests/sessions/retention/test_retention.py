"""When a session is idle for its limit, and what keeps it: in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcp_agent.processes import ProcessIdentity
from mcp_agent.tmux.terminal import Capture, PaneInfo, PaneRef

if TYPE_CHECKING:
    from tests.sessions.retention.conftest import Home, Kept

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S6")]

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
LIMIT = 3 * HOUR
TICK = MINUTE


def is_at(moment: timedelta, expected: timedelta) -> bool:
    """Never early, and late by a tick at most."""
    return expected <= moment <= expected + TICK


async def test_an_idle_session_is_closed_at_its_limit_and_not_before(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(LIMIT - timedelta(seconds=1))
        assert kept.alive
        assert is_at(await kept.closes(), LIMIT)

        closing = kept.closed[0][1]
        assert (closing.limit, closing.setting, closing.by, closing.elapsed_seconds) == (
            LIMIT,
            "a test",
            "server",
            10800,
        )
        assert closing.short == "idle for 3h"
        assert kept.session.over == "stopped (idle for 3h)"


async def test_the_reason_names_layer_owner_limit_setting_and_what_to_do(home: Home) -> None:
    async with home.kept() as kept:
        await kept.closes()
    sentence = kept.closed[0][1].sentence
    for part in ("idle for 3h", "layer idle_retention", "owner session manager", "by a test", "session resume"):
        assert part in sentence


@pytest.mark.contract("T9")
async def test_the_reason_carries_its_layer_and_its_times_as_fields(home: Home) -> None:
    async with home.kept() as kept:
        await kept.closes()
    facts = kept.closed[0][1].facts
    assert (facts["layer"], facts["owner"]) == ("idle_retention", "session manager")
    assert (facts["configured_seconds"], facts["elapsed_seconds"]) == (10800.0, 10800.0)


async def test_a_running_call_pauses_the_clock_and_it_goes_on_from_there(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(2 * HOUR)
        kept.why = "a tool call runs"
        kept.session.nudge()
        await kept.until(9 * HOUR)
        assert kept.alive
        kept.why = None
        kept.session.nudge()
        assert is_at(await kept.closes(), 10 * HOUR)


async def test_a_call_that_ends_at_the_limit_leaves_what_was_left_before_it(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(LIMIT - MINUTE / 2)
        kept.why = "a tool call runs"
        kept.session.nudge()
        await kept.until(5 * HOUR)
        kept.why = None
        kept.session.nudge()
        moment = await kept.closes()
        assert 5 * HOUR + MINUTE / 2 <= moment <= 5 * HOUR + 2 * TICK


async def test_a_call_that_began_in_the_last_moment_keeps_the_session(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(LIMIT - timedelta(microseconds=1))
        kept.why = "a tool call runs"
        await kept.until(LIMIT + HOUR)
        assert kept.alive


async def test_a_turn_is_never_idle_however_silent_and_its_end_begins_the_limit(home: Home) -> None:
    async with home.kept() as kept:
        kept.cli.tell(accepted="work")
        await kept.until(26 * HOUR)
        assert kept.alive
        kept.cli.tell(ended="completed")
        assert is_at(await kept.closes(), 29 * HOUR)


async def test_accepted_input_begins_the_limit_anew(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(2 * HOUR)
        kept.cli.tell(accepted="one")
        kept.cli.tell(ended="completed")
        await kept.until(LIMIT + HOUR)
        assert kept.alive
        assert is_at(await kept.closes(), 5 * HOUR)


def asks_for_permission(kept: Kept) -> None:
    kept.cli.status = "[permission?]"
    kept.cli.draw()


def shows_a_dialog(kept: Kept) -> None:
    kept.pane.show("[dialog login]", "* Yes", "- No")


def is_busy_by_its_screen(kept: Kept) -> None:
    kept.cli.status = "[busy]"
    kept.cli.draw()


def is_attached(kept: Kept) -> None:
    kept.pane.attach(attached=True)


def runs_a_job(kept: Kept) -> None:
    kept.jobs.found = (ProcessIdentity(1, 1, None),)


@pytest.mark.parametrize("begin", [asks_for_permission, shows_a_dialog, is_busy_by_its_screen, is_attached])
async def test_nothing_that_is_live_is_closed(home: Home, begin: Callable[[Kept], None]) -> None:
    async with home.kept() as kept:
        await kept.until(HOUR)
        begin(kept)
        await kept.until(7 * HOUR)
        assert kept.alive


async def test_a_question_pauses_the_clock_and_work_begins_it_anew(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(2 * HOUR)
        asks_for_permission(kept)
        await kept.until(7 * HOUR)
        is_busy_by_its_screen(kept)
        await kept.until(8 * HOUR)
        kept.cli.status = ""
        kept.cli.draw()
        assert is_at(await kept.closes(), 11 * HOUR)


async def test_the_limit_begins_when_the_last_client_leaves(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(2 * HOUR)
        kept.pane.attach(attached=True)
        await kept.until(4 * HOUR)
        kept.pane.attach(attached=False)
        assert 7 * HOUR <= await kept.closes() < 7 * HOUR + 2 * TICK


async def test_a_cli_that_was_started_and_shows_nothing_yet_is_not_idle(home: Home) -> None:
    async with home.bench.observed() as (session, pane), anyio.create_task_group() as group:
        kept = home.keep(session, home.bench.cli(pane))
        pane.show("loading")
        group.start_soon(kept.keeper(home.state).run)
        await kept.until(5 * HOUR)
        assert kept.alive
        group.cancel_scope.cancel()


async def test_a_cli_that_ended_by_itself_is_closed_like_an_idle_one(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(HOUR)
        kept.pane.exit(3)
        assert is_at(await kept.closes(), LIMIT)


async def test_new_words_on_the_screen_without_any_input_begin_the_limit_anew(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(2 * HOUR)
        kept.cli.draw("a job has come back")
        assert is_at(await kept.closes(), 5 * HOUR)


async def test_a_spinner_a_counter_and_words_that_come_back_are_no_activity(home: Home) -> None:
    async with home.kept() as kept:
        kept.cli.draw("tip: one")
        await kept.until(timedelta(seconds=10))
        async with anyio.create_task_group() as group:
            group.start_soon(spin, kept)
            moment = await kept.closes()
            group.cancel_scope.cancel()
        assert moment < LIMIT + MINUTE + TICK


async def spin(kept: Kept) -> None:
    for frame in range(10**6):
        kept.cli.draw(f"tip: {('one', 'two')[frame % 2]} {'|/-'[frame % 3]} {frame}s")
        await anyio.sleep(20)


async def test_a_step_of_the_wall_clock_closes_nothing_early(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(HOUR)
        kept.wall_seconds += 7 * 24 * 3600
        await kept.until(LIMIT - timedelta(seconds=1))
        assert kept.alive
        kept.wall_seconds -= 400 * 24 * 3600
        assert is_at(await kept.closes(), LIMIT)
        assert kept.closed[0][1].at == kept.wall_seconds


async def test_time_that_the_terminal_did_not_count_does_not_count(home: Home) -> None:
    """As after an hour in which the machine slept: our own clock alone closes nothing."""
    async with home.kept() as kept:
        await kept.until(2 * HOUR)
        assert kept.pane.clock
        kept.pane.clock.skip(HOUR)
        assert is_at(await kept.closes(), LIMIT + HOUR)


async def test_a_clock_that_somebody_took_away_is_set_anew(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(HOUR)
        kept.pane.clock = None
        assert is_at(await kept.closes(), 2 * LIMIT)


async def test_a_job_that_runs_on_keeps_the_session_for_a_day_at_most(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never_gone(_jobs: object, *, limit: timedelta) -> bool:
        await anyio.sleep(limit.total_seconds())
        return False

    monkeypatch.setattr("mcp_agent.sessions.retention.keeper.wait_gone", never_gone)
    async with home.kept() as kept:
        kept.jobs.found = (ProcessIdentity(1, 1, None),)
        await kept.until(23 * HOUR)
        assert kept.alive
        assert is_at(await kept.closes(), 27 * HOUR)


async def test_the_last_look_finds_a_turn_that_nobody_was_told_of(home: Home) -> None:
    async with home.kept() as kept:
        kept.cli.told = lambda: None
        await kept.until(LIMIT - timedelta(microseconds=1))
        kept.cli.spool(accepted="just in time")
        await kept.until(LIMIT + HOUR)
        assert kept.alive
        assert kept.session.turns.current is not None


@pytest.mark.parametrize("found", [{"ticks": 0}, {"ticks": None}, {"attached": True}])
async def test_two_reads_of_the_clock_have_to_agree(
    home: Home, monkeypatch: pytest.MonkeyPatch, found: dict[str, Any]
) -> None:
    async with home.kept() as kept:
        read = home.bench.terminal.exit_of

        async def otherwise_under_the_lock(pane: PaneRef) -> PaneInfo | None:
            info = await read(pane)
            return replace(info, **found) if info and kept.session.send_lock.statistics().locked else info

        monkeypatch.setattr(home.bench.terminal, "exit_of", otherwise_under_the_lock)
        await kept.until(LIMIT + MINUTE / 2)
        assert kept.alive


async def test_what_begins_during_the_last_look_keeps_the_session(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async with home.kept() as kept:
        capture = home.bench.terminal.capture

        async def a_call_begins_meanwhile(pane: PaneRef) -> Capture:
            if kept.session.send_lock.statistics().locked:
                kept.why = "a tool call runs"
            return await capture(pane)

        monkeypatch.setattr(home.bench.terminal, "capture", a_call_begins_meanwhile)
        await kept.until(LIMIT + HOUR)
        assert kept.why is not None
        assert kept.alive


async def test_a_limit_of_seconds_is_kept_to_the_second(home: Home) -> None:
    async with home.kept(timedelta(seconds=20)) as kept:
        moment = await kept.closes()
        assert timedelta(seconds=20) <= moment < timedelta(seconds=21)


async def test_a_pane_that_is_gone_ends_the_keeping(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(HOUR)
        kept.pane.vanish()
        await kept.until(10 * HOUR)
        assert kept.session.state == "lost"
        assert kept.closed == []
