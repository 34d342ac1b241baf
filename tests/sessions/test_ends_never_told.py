"""A turn whose end is told by nothing: an interrupt ends it, and the session goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.sessions.input.interrupting import interrupt, interrupt_at_deadline
from mcp_agent.sessions.input.sending import send
from mcp_agent.tmux.memory import Pressed

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = [pytest.mark.anyio, pytest.mark.contract("T10")]


async def test_an_interrupt_ends_the_turn_of_a_cli_that_shows_nothing_but_its_prompt(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        sent = await send(session, "think")

        assert await interrupt(session)
        turn = session.turns.get(sent.turn_id or "")
        assert turn is not None
        assert turn.ended is not None
        assert (turn.ended.outcome, turn.ended.error) == ("interrupted", "its end was never told")
        assert (turn.reason, session.state) == ("person", "ready")
        assert cli.keys() == ["Enter", "Escape"]


async def test_the_next_prompt_begins_a_turn_of_its_own(bench: Bench) -> None:
    async with bench.ready() as (session, _):
        first = await send(session, "one")
        await interrupt(session)
        second = await send(session, "two")

        assert session.turns.current is not None
        assert (session.turns.current.id, session.turns.current.live_inputs) == (second.turn_id, ())
        assert second.turn_id != first.turn_id


async def test_a_deadline_ends_it_too_and_keeps_the_session(bench: Bench) -> None:
    async with bench.ready() as (session, _):
        sent = await send(session, "think")

        assert await interrupt_at_deadline(session, sent.turn_id or "") == (True, True)
        assert session.state == "ready"


@pytest.mark.parametrize("screen", [["[busy]", "> ", "---"], ["[permission?]", "> ", "---"], ["nothing known"]])
async def test_a_screen_that_shows_more_or_less_than_a_prompt_ends_nothing(bench: Bench, screen: list[str]) -> None:
    async with bench.ready() as (session, cli):
        await send(session, "think")
        cli.pane.show(*screen)

        assert not await interrupt(session)
        assert session.turns.current is not None


async def test_a_prompt_that_is_gone_at_the_second_look_ends_nothing(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        await send(session, "think")
        looks, look = 0, session.terminal.capture

        async def works_on(*arguments: object) -> object:
            nonlocal looks
            looks += anyio.current_time() >= began + 10
            if looks == 2:
                cli.status = "[busy]"
                cli.draw()
            return await look(*arguments)  # type: ignore[arg-type]

        began = anyio.current_time()
        session.terminal.capture = works_on  # type: ignore[method-assign, assignment]
        assert not await interrupt(session)
        assert looks >= 2


async def test_an_end_that_is_told_within_the_time_of_an_event_stays_the_clis_own(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        sent = await send(session, "think")

        async def tell_late() -> None:
            await anyio.sleep(9)
            cli.tell(ended="completed", text="done")

        async with anyio.create_task_group() as group:
            group.start_soon(tell_late)
            assert await interrupt(session)
        turn = session.turns.get(sent.turn_id or "")
        assert turn is not None
        assert turn.ended is not None
        assert (turn.ended.outcome, turn.ended.final_text) == ("completed", "done")


async def test_a_pane_that_goes_away_meanwhile_ends_nothing_as_interrupted(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        sent = await send(session, "think")

        def die(received: object) -> None:
            if received == Pressed("Escape"):
                cli.pane.exit(1)

        cli.pane.on_input = die
        await interrupt(session)
        turn = session.turns.get(sent.turn_id or "")
        assert turn is not None
        assert turn.ended is not None
        assert turn.ended.outcome == "failed"
