"""A launch that its server did not see through: the next server goes on with it."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.sessions.record import load_records, save_record
from mcp_agent.timeouts import Policy

if TYPE_CHECKING:
    from mcp_agent.sessions.manager import SessionManager
    from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S7", "S4")]

SOON = timedelta(seconds=10)


async def broken_off(house: House, screen: tuple[str, ...] = ("warming up",)) -> None:
    """A start whose CLI runs, without its bridge, when the server dies."""
    house.bridges_come_up = False
    house.terminal.program = lambda pane: pane.show(*screen)
    launched = anyio.Event()
    async with house.server() as manager:
        house.terminal.on_watch = lambda _: launched.set()
        async with anyio.create_task_group() as group:
            manager.server_stops = lambda: True
            group.start_soon(manager.start, house.options())
            with anyio.fail_after(20):
                await launched.wait()
            group.cancel_scope.cancel()
    house.bridges_come_up = True


async def ended(manager: SessionManager) -> bool:
    [session] = manager.all()
    return await session.wait_until(lambda: session.over is not None, limit=SOON)


@pytest.mark.contract("S9")
async def test_a_start_that_the_end_of_a_server_cuts_off_is_left_to_the_next(house: House) -> None:
    await broken_off(house)

    async with house.server() as manager:
        [session] = manager.all()
        assert (session.state, session.record.came_up) == ("starting", False)
        house.terminal.pane(session.pane).show("> ", "---")
        assert await session.wait_until(lambda: session.record.came_up, limit=SOON)
        assert session.state == "ready"
    [record] = load_records(house.state)
    assert record.came_up


async def test_a_bridge_that_came_up_under_the_earlier_server_is_not_waited_for_again(house: House) -> None:
    async with house.server() as manager:
        await manager.start(house.options())
    house.bridges_come_up = False
    async with house.server() as manager:
        [session] = manager.all()
        assert session.state == "ready"


async def test_a_bridge_that_never_came_up_keeps_a_session_starting(house: House) -> None:
    await broken_off(house, ("> ", "---"))
    house.bridges_come_up = False
    async with house.server() as manager:
        [session] = manager.all()
        assert session.state == "starting"
        session.bridge_is_up()
        assert session.state == "ready"


async def test_a_dialog_is_answered_by_the_next_server(house: House) -> None:
    await broken_off(house, ("[dialog news]", "* Continue"))
    async with house.server() as manager:
        [session] = manager.all()
        pane = house.terminal.pane(session.pane)
        pane.on_input = lambda _: pane.show("> ", "---")
        assert await session.wait_until(lambda: session.record.came_up, limit=SOON)


async def test_a_dialog_that_only_a_person_may_answer_leaves_it_blocked(house: House) -> None:
    await broken_off(house, ("[dialog login]", "* Log in"))
    async with house.server() as manager:
        [session] = manager.all()
        await anyio.wait_all_tasks_blocked()
        assert session.state == "blocked"
        house.terminal.pane(session.pane).show("> ", "---")
        assert await session.wait_until(lambda: session.state == "ready", limit=SOON)


async def test_a_cli_that_does_not_come_up_in_what_is_left_of_its_bounds_is_stopped(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.policy = Policy.resolve({"MCP_AGENT_PROMPT_READY": "1s"})
    await broken_off(house)

    async with house.server() as manager:
        assert await ended(manager)
        assert [session.state for session in manager.all()] == ["stopped"]
        assert "layer=prompt_ready" in caplog.text
        assert "warming up" in caplog.text
    assert await house.panes() == []


async def test_a_cli_that_exits_meanwhile_is_exited_and_stays_to_be_looked_at(house: House) -> None:
    await broken_off(house)
    async with house.server() as manager:
        [session] = manager.all()
        house.terminal.pane(session.pane).exit(3)
        assert await ended(manager)
        assert session.over == "exited (status 3)"


async def test_a_limit_of_the_provider_is_known_after_a_restart(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        pane = house.terminal.pane(session.pane)
        pane.show("[limited]", "> ", "---")
        assert await session.wait_until(lambda: session.state == "limited", limit=SOON)
        pane.show("> ", "---")
    async with house.server() as manager:
        [adopted] = manager.all()
        assert (adopted.state, adopted.status.detail) == ("limited", "rate")


async def test_a_launch_of_long_ago_has_some_time_left(house: House) -> None:
    """Nobody saw what its CLI did meanwhile."""
    await broken_off(house)
    [record] = load_records(house.state)
    save_record(house.state, replace(record, launched_at=time.time() - 86_400))
    async with house.server() as manager:
        [session] = manager.all()
        await anyio.wait_all_tasks_blocked()
        assert session.state == "starting"
