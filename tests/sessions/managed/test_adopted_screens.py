"""What an adopted session is taken for while its screen says nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mcp_agent.sessions.record import load_records, save_record

if TYPE_CHECKING:
    from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S3", "S7")]


@pytest.mark.parametrize("screen", ["", "a long answer that hides the prompt"])
async def test_a_session_that_came_up_once_does_not_start_again(house: House, screen: str) -> None:
    async with house.server() as manager:
        left = await manager.start(house.options())
    house.terminal.pane(left.pane).show(screen)

    async with house.server() as manager:
        [session] = manager.all()
        assert session.state == "ready"


async def test_a_session_that_never_came_up_is_still_starting(house: House) -> None:
    async with house.server() as manager:
        left = await manager.start(house.options())
    [record] = load_records(house.state)
    save_record(house.state, replace(record, came_up=False))
    house.terminal.pane(left.pane).show("")

    async with house.server() as manager:
        [session] = manager.all()
        assert session.state == "starting"
