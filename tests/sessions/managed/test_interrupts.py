"""Interrupts: the turn ends and the session stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.tmux.memory import Pressed

if TYPE_CHECKING:
    from tests.sessions.managed.conftest import House

pytestmark = pytest.mark.anyio


@pytest.mark.contract("T10")
async def test_an_interrupt_ends_the_turn_and_keeps_the_session(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        cli = house.cli(session)
        sent = await manager.send(session.id, "think")
        cli.pane.on_input = lambda received: cli.tell(ended="interrupted")

        assert await manager.interrupt(session.id)
        assert cli.keys() == ["Enter", "Escape"]
        turn = session.turns.get(sent.turn_id or "")
        assert turn is not None
        assert turn.ended is not None
        assert turn.ended.outcome == "interrupted"
        assert session.state == "ready"


async def test_an_interrupt_without_work_presses_nothing(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        cli = house.cli(session)

        assert not await manager.interrupt(session.id)
        assert cli.pane.inputs == []


async def test_work_that_nobody_told_of_can_be_interrupted(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        cli = house.cli(session)
        cli.status = "[busy]"
        cli.draw()
        await session.look()

        def interrupted(_: object) -> None:
            cli.status = ""
            cli.draw()

        cli.pane.on_input = interrupted

        assert await manager.interrupt(session.id)


@pytest.mark.contract("I4")
async def test_an_interrupt_overtakes_sends_that_wait_and_not_the_one_that_runs(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        cli = house.cli(session)
        cli.draws_pastes = False
        cli.tell(accepted="long work")
        pasted = anyio.Event()

        def take(received: object) -> None:
            pasted.set()
            cli.take(received)  # type: ignore[arg-type]
            if received == Pressed("Escape"):
                cli.tell(ended="interrupted")

        cli.pane.on_input = take
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(manager.send, session.id, "first")
                await pasted.wait()
                group.start_soon(manager.send, session.id, "second")
                group.start_soon(manager.interrupt, session.id)
                await anyio.lowlevel.checkpoint()
                cli.draws_pastes = True
                cli.draw()

        kinds = [getattr(received, "text", None) or getattr(received, "key", "") for received in cli.pane.inputs]
        assert kinds == ["first", "Enter", "Escape", "second", "Enter"]
