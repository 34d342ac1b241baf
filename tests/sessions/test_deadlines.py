"""The caller's limit for a turn: it interrupts, and the session stays when it can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import SessionEnded
from mcp_agent.sessions.input.interrupting import interrupt_at_deadline
from mcp_agent.sessions.input.sending import send
from mcp_agent.tmux.memory import Input, Pressed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.sessions.conftest import Bench, Cli

pytestmark = [pytest.mark.anyio, pytest.mark.contract("T10")]


def on_escape(cli: Cli, act: Callable[[], None]) -> None:
    """What the CLI does when it is interrupted."""

    def take(received: Input) -> None:
        cli.take(received)
        if received == Pressed("Escape"):
            act()

    cli.pane.on_input = take


def works(cli: Cli) -> None:
    cli.status = "[busy]"
    cli.draw()


def comes_back(cli: Cli) -> None:
    cli.status = ""
    cli.draw()
    cli.tell(ended="interrupted")


async def test_the_turn_is_interrupted_and_the_session_kept(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        sent = await send(session, "think")
        works(cli)
        on_escape(cli, lambda: comes_back(cli))

        assert await interrupt_at_deadline(session, sent.turn_id or "") == (True, True)
        turn = session.turns.get(sent.turn_id or "")
        assert turn is not None
        assert (turn.reason, session.state) == ("deadline", "ready")


@pytest.mark.parametrize("tells", [False, True])
async def test_a_session_that_does_not_come_back_within_ten_seconds_cannot_be_kept(bench: Bench, tells: bool) -> None:
    async with bench.ready() as (session, cli):
        sent = await send(session, "think")
        works(cli)
        await session.look()
        if tells:
            on_escape(cli, lambda: cli.tell(ended="interrupted"))
        began = anyio.current_time()

        assert await interrupt_at_deadline(session, sent.turn_id or "") == (True, False)
        assert anyio.current_time() - began == pytest.approx(10, abs=0.5)
        assert cli.keys() == ["Enter", "Escape"]


async def test_a_turn_that_is_over_and_the_one_after_it_are_left_alone(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        first = await send(session, "one")
        cli.tell(ended="completed")
        await send(session, "two")

        assert await interrupt_at_deadline(session, first.turn_id or "") == (False, True)
        assert cli.keys() == ["Enter", "Enter"]
        assert session.turns.current is not None


async def test_a_session_that_goes_on_with_the_next_prompt_is_kept(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        sent = await send(session, "think")
        works(cli)

        def go_on() -> None:
            cli.tell(ended="interrupted")
            cli.tell(accepted="what was held")

        on_escape(cli, go_on)
        assert await interrupt_at_deadline(session, sent.turn_id or "") == (True, True)


async def test_a_cli_that_dies_of_the_interrupt_cannot_be_kept(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        sent = await send(session, "think")
        on_escape(cli, lambda: cli.pane.exit(1))
        assert await interrupt_at_deadline(session, sent.turn_id or "") == (True, False)
        with pytest.raises(SessionEnded):
            await interrupt_at_deadline(session, sent.turn_id or "")
