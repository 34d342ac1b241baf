"""Panes that cannot be closed, because tmux does not answer when their session ends."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import TmuxUnavailable
from mcp_agent.processes import identify

if TYPE_CHECKING:
    from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S8")]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_agent.sessions.closing.CLOSE_AGAIN_AFTER", timedelta(milliseconds=1))


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110 -- the closing tells nobody
            await anyio.sleep(0.001)


async def test_a_pane_is_closed_and_the_terminal_shut_down_as_soon_as_tmux_answers_again(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        house.terminal.available = False
        await manager.stop(session.id)
        assert session.state == "stopped"
        assert house.terminal.shut_down == 0

        house.terminal.available = True
        await until(lambda: house.terminal.shut_down == 1)

        assert await house.panes() == []
        assert house.files() == [session.id, f"{session.id}/session.json"]


@pytest.mark.parametrize("tied", [False, True])
async def test_the_next_server_closes_what_the_last_one_could_not(
    house: House, sleeper: subprocess.Popen[bytes], tied: bool
) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options(tied_to=identify(sleeper.pid) if tied else None))
        house.terminal.available = False
        await manager.stop(session.id)
        assert house.files() == [session.id, f"{session.id}/session.json"]
    house.terminal.available = True
    assert await house.panes() == [session.id]

    async with house.server():
        await until(lambda: house.terminal.shut_down == 1)

        assert await house.panes() == []
        assert house.files() == ([] if tied else [session.id, f"{session.id}/session.json"])
    async with house.server() as manager:
        assert manager.all() == []


async def test_a_launch_that_failed_while_tmux_hung_leaves_no_pane(house: House) -> None:
    async def hang() -> None:
        house.terminal.available = False
        raise TmuxUnavailable("no answer")

    house.terminal.after_spawn = hang
    async with house.server() as manager:
        with pytest.raises(TmuxUnavailable):
            await manager.start(house.options())
        assert house.terminal.shut_down == 0

        house.terminal.available = True
        await until(lambda: house.terminal.shut_down == 1)

        assert await house.nothing_is_left(manager)


async def test_a_launch_that_failed_while_tmux_hung_is_put_away_by_the_next_server(house: House) -> None:
    async def hang() -> None:
        house.terminal.available = False
        raise TmuxUnavailable("no answer")

    house.terminal.after_spawn = hang
    async with house.server() as manager:
        with pytest.raises(TmuxUnavailable):
            await manager.start(house.options())
    house.terminal.available = True

    async with house.server():
        await until(lambda: house.terminal.shut_down == 1)

        assert await house.panes() == []
