"""Retention of a whole server's sessions: what is on record, and what the next server finds."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import load_record, load_records
from mcp_agent.sessions.retention.clock import WORD_FILE
from mcp_agent.timeouts import IDLE_RETENTION, FileTimeouts, Policy

if TYPE_CHECKING:
    from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S6")]

SHORT = timedelta(seconds=1)
SOON = timedelta(seconds=20)


async def becomes(session: LiveSession, state: str) -> bool:
    return await session.wait_until(lambda: session.state == state, limit=SOON)


async def is_held(house: House, session: LiveSession) -> None:
    with anyio.fail_after(20):
        while (found := await house.terminal.exit_of(session.pane)) is None or not found.held:  # noqa: ASYNC110
            await anyio.sleep(0.01)


async def clock_runs_out(house: House) -> None:
    """Let the clocks of panes close them, with no server there."""
    with anyio.fail_after(20):
        while await house.terminal.panes():  # noqa: ASYNC110 -- a clock tells nobody
            await anyio.sleep(0.02)


async def has_clock(house: House, session: LiveSession) -> None:
    with anyio.fail_after(20):
        while (found := await house.terminal.exit_of(session.pane)) is None or found.ticks is None or found.held:  # noqa: ASYNC110
            await anyio.sleep(0.01)


@pytest.mark.contract("S8")
async def test_an_idle_session_is_stopped_and_its_record_says_why(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options(idle_retention=SHORT))
        assert await becomes(session, "stopped")
        await manager.stop(session.id)

        assert session.over == "stopped (idle for 1s)"
        assert await house.panes() == []
        assert house.files() == [session.id, f"{session.id}/session.json"]
        record = load_record(house.state, session.id)
        assert record is not None
        assert record.closed is not None
        assert (record.closed.limit, record.closed.setting, record.closed.by) == (SHORT, "--idle-retention", "server")


@pytest.mark.contract("S8")
async def test_the_end_of_an_idle_session_is_one_event_with_all_facts(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options(idle_retention=SHORT))
        assert await becomes(session, "stopped")
        await manager.stop(session.id)
        events = manager.store.events(after=0, session_id=session.id, limit=100).events
    (closed,) = [event.facts for event in events if event.kind == "session.closed"]
    assert (closed["layer"], closed["by"], closed["cancelled_calls"]) == ("idle_retention", "server", 2)


async def test_a_later_server_still_says_why(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options(idle_retention=SHORT))
        assert await becomes(session, "stopped")
        await manager.stop(session.id)
    async with house.server() as manager:
        assert manager.get(session.id).over == "stopped (idle for 1s)"


async def test_a_session_that_somebody_stops_was_not_idle(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options(idle_retention=SHORT))
        await manager.stop(session.id)

        assert (session.over, session.record.closed) == ("stopped", None)


async def test_what_the_clock_closed_with_no_server_alive_is_told_by_the_next(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options(idle_retention=SHORT))
        await has_clock(house, session)
    await clock_runs_out(house)

    async with house.server() as manager:
        [found] = manager.all()
        await manager.stop(found.id)
        assert (found.id, found.over) == (session.id, "stopped (idle for 1s)")
        assert found.record.closed is not None
        assert (found.record.closed.by, found.record.closed.elapsed_seconds) == ("tmux", 2.0)
        assert house.files() == [found.id, f"{found.id}/session.json"]


async def test_a_hold_that_a_crash_left_ends_after_a_day_and_says_so(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent.sessions.retention.clock.ABANDONED_AFTER", timedelta(seconds=3))
    async with house.server() as manager:
        session = await manager.start(house.options(idle_retention=SHORT))
        house.cli(session).tell(accepted="work for ever")
        await is_held(house, session)
    await clock_runs_out(house)

    async with house.server() as manager:
        assert manager.get(session.id).over == "stopped (no server came back for 24h)"


@pytest.mark.parametrize("tmux_lives", [True, False])
async def test_the_word_in_the_file_is_enough_when_the_terminal_has_ended_since(house: House, tmux_lives: bool) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        await has_clock(house, session)
    house.terminal.lose()
    house.tmux_lives = tmux_lives
    at = time.time()
    (house.state.session(session.id) / WORD_FILE).write_text(json.dumps({"at": at}))

    async with house.server() as manager:
        found = manager.get(session.id)
        assert found.over == "stopped (idle for 3h)"
        assert found.record.closed is not None
        assert found.record.closed.at == at


@pytest.mark.parametrize("word", ['{"at": 5}', "", "[]", '{"at": null}'])
async def test_a_word_about_an_earlier_launch_or_none_at_all_leaves_it_lost(house: House, word: str) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        await has_clock(house, session)
    house.terminal.lose()
    (house.state.session(session.id) / WORD_FILE).write_text(word)

    async with house.server() as manager:
        assert manager.get(session.id).over == "lost"


async def test_the_limit_of_the_start_holds_whatever_is_configured_later(house: House) -> None:
    async with house.server() as manager:
        own = await manager.start(house.options(idle_retention=timedelta(hours=5)))
        provider = await manager.start(house.options())
        await has_clock(house, own)
        await has_clock(house, provider)
    house.policy = Policy.resolve({"MCP_AGENT_IDLE_RETENTION": "1s"})

    async with house.server() as manager:
        limits = [manager.get(session.id).record.keeping for session in (own, provider)]
        assert [keeping.limit for keeping in limits if keeping] == [timedelta(hours=5), timedelta(hours=3)]
        assert manager.get(own.id).state == "ready"


async def test_the_ticks_go_on_under_the_next_server_and_an_earlier_hold_does_not_count(house: House) -> None:
    async with house.server() as manager:
        idle, busy = [await manager.start(house.options()) for _ in range(2)]
        cli = house.cli(busy)
        cli.tell(accepted="work")
        await has_clock(house, idle)
        await is_held(house, busy)
    for session in (idle, busy):
        clock = house.terminal.pane(session.pane).clock
        assert clock is not None
        clock.skip(-timedelta(minutes=70))
    cli.spool(ended="completed")

    async with house.server() as manager:
        for session in (idle, busy):
            assert await becomes(manager.get(session.id), "ready")
            await has_clock(house, manager.get(session.id))
        found = [await house.terminal.exit_of(session.pane) for session in (idle, busy)]
        assert [pane.ticks for pane in found if pane] == [70, 0]


async def test_a_session_that_is_kept_for_ever_has_no_clock(house: House) -> None:
    house.policy = Policy.resolve({}, FileTimeouts({IDLE_RETENTION.key: SHORT}))
    async with house.server() as manager:
        session = await manager.start(house.options(idle_retention=timedelta(0)))
        other = await manager.start(house.options())
        assert await becomes(other, "stopped")

        found = await house.terminal.exit_of(session.pane)
        assert found is not None
        assert found.ticks is None
        assert session.state == "ready"


async def test_what_the_clock_closed_before_a_slow_server_did_is_told_as_such(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        await has_clock(house, session)
        clock = house.terminal.pane(session.pane).clock
        assert clock is not None
        clock.skip(-timedelta(hours=4))
        await house.terminal.panes()
        assert await becomes(session, "stopped")
        assert session.over == "stopped (idle for 3h)"
        assert session.record.closed is not None
        assert session.record.closed.by == "tmux"


async def test_a_resumed_session_is_looked_after_again(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options(idle_retention=SHORT))
        assert await becomes(session, "stopped")
        await manager.stop(session.id)
        await manager.resume(session.id)
        assert session.record.closed is None
        assert await becomes(session, "stopped")
        assert session.over == "stopped (idle for 1s)"


@pytest.mark.contract("S8")
async def test_peer_10_the_record_of_a_session_stays_as_long_as_its_pane_may_live(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent.sessions.closing.CLOSE_AGAIN_AFTER", timedelta(milliseconds=10))
    async with house.server() as manager:
        session = await manager.start(house.options(idle_retention=SHORT))
        assert await session.wait_until(lambda: session.record.closed is not None, limit=SOON)
        house.terminal.available = False
        await manager.stop(session.id)

        [record] = load_records(house.state)
        assert record.pane == session.pane
        house.terminal.available = True
        with anyio.fail_after(20):
            while load_records(house.state)[0].pane is not None:  # noqa: ASYNC110 -- a file of ours
                await anyio.sleep(0.01)
        assert await house.panes() == []
