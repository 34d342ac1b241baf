"""A CLI's own commands: typed, and run once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import CommandRefused, SendRefused, SessionEnded
from mcp_agent.sessions.input.commanding import LONGEST_COMMAND, command
from mcp_agent.sessions.input.sending import send
from mcp_agent.tmux.memory import Input, Pasted, Pressed, Typed

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = [pytest.mark.anyio, pytest.mark.contract("I3")]


async def test_a_command_is_typed_and_run_once(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        assert await command(session, "/compact now") == "executed"
        assert cli.pane.inputs == [Typed("/compact now"), Pressed("Enter")]


async def test_a_popup_that_eats_the_first_enter_gets_a_second_one(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.swallows = 1
        assert await command(session, "/compact") == "executed"
        assert (cli.submitted, cli.keys()) == (["/compact"], ["Enter", "Enter"])


async def test_a_command_that_never_leaves_is_unconfirmed_after_a_bounded_number_of_presses(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.swallows = 1000
        assert await command(session, "/compact") == "unconfirmed"
        assert cli.keys() == ["Enter"] * 3


async def test_a_command_that_a_popup_changed_is_not_run(bench: Bench) -> None:
    async with bench.ready() as (session, cli):

        def complete(received: Input) -> None:
            cli.take(Typed("/compaction") if isinstance(received, Typed) else received)

        cli.pane.on_input = complete
        assert await command(session, "/comp") == "unconfirmed"
        assert cli.keys() == []


async def test_a_command_that_ends_the_cli_was_run(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.on_submit = lambda _: cli.pane.exit(0)
        assert await command(session, "/exit") == "executed"


async def test_a_command_that_opens_a_question_was_run_once(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.on_submit = lambda _: cli.pane.show("[dialog model]", "* one", "- two")
        assert await command(session, "/model") == "executed"
        assert cli.keys() == ["Enter"]


@pytest.mark.parametrize("text", ["compact", "/a\nb", "/a\tb", "/" + "x" * LONGEST_COMMAND])
async def test_what_is_no_command_is_refused_with_nothing_typed(bench: Bench, text: str) -> None:
    async with bench.ready() as (session, cli):
        with pytest.raises(CommandRefused, match="nothing was typed"):
            await command(session, text)
        assert cli.pane.inputs == []


async def test_a_command_is_not_typed_behind_a_draft_or_into_a_question(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.draft = "half a thought"
        cli.draw()
        with pytest.raises(SendRefused, match="draft"):
            await command(session, "/compact")
        cli.draft, cli.status = "", "[permission?]"
        cli.draw()
        with pytest.raises(SendRefused, match="permission"):
            await command(session, "/compact")
        assert cli.pane.inputs == []


async def test_a_prompt_that_looks_like_a_command_is_guarded_and_pasted(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        assert (await send(session, "/compact is a word")).outcome == "delivered"
        assert cli.pane.inputs[0] == Pasted(" /compact is a word")


async def test_a_session_that_is_over_takes_no_command(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.pane.exit(1)
        with pytest.raises(SessionEnded):
            await command(session, "/compact")
