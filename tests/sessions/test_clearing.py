"""A draft that stands in the composer, and a caller who says that it may go."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import SendRefused, SessionEnded, TmuxUnavailable
from mcp_agent.sessions.input.sending import send
from mcp_agent.tmux.memory import Input, Pressed

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench, Cli

pytestmark = [pytest.mark.anyio, pytest.mark.contract("I1")]


def clears_a_line(cli: Cli) -> None:
    """The CLI's C-u takes the last line of its draft away."""

    def take(received: Input) -> None:
        if received == Pressed("C-u"):
            cli.draft = cli.draft.rpartition("\n")[0]
            cli.draw()
        else:
            cli.take(received)

    cli.pane.on_input = take


async def test_a_refusal_names_the_way_to_discard_the_draft(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.draft = "half a thought"
        cli.draw()

        with pytest.raises(SendRefused, match="send with --clear-draft to discard it; nothing was sent"):
            await send(session, "hello")


@pytest.mark.parametrize("draft", ["half a thought", "one\ntwo\n\nfour", "same\n" * 40 + "same"])
async def test_a_draft_is_cleared_by_as_many_presses_as_it_takes(bench: Bench, draft: str) -> None:
    async with bench.ready() as (session, cli):
        clears_a_line(cli)
        cli.draft = draft
        cli.draw()

        assert (await send(session, "hello", clear_draft=True)).outcome == "delivered"
        assert cli.submitted == ["hello"]
        assert cli.keys() == ["C-u"] * len(draft.split("\n")) + ["Enter"]


async def test_nothing_is_cleared_where_nothing_stands(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        assert (await send(session, "hello", clear_draft=True)).outcome == "delivered"
        assert cli.keys() == ["Enter"]


async def test_a_draft_that_does_not_go_is_a_refusal_after_a_bounded_time(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.draft = "stubborn"
        cli.draw()

        with anyio.fail_after(60), pytest.raises(SendRefused, match="could not be cleared"):
            await send(session, "hello", clear_draft=True)
        assert cli.pastes() == []


async def test_a_question_that_comes_up_while_clearing_is_not_pressed_into(bench: Bench) -> None:
    async with bench.ready() as (session, cli):

        def ask(_: Input) -> None:
            cli.status = "[permission?]"
            cli.draw()

        cli.pane.on_input = ask
        cli.draft = "half a thought"
        cli.draw()

        with pytest.raises(SendRefused, match="permission"):
            await send(session, "hello", clear_draft=True)
        assert cli.keys() == ["C-u"]


async def test_a_cli_that_dies_while_clearing_ends_the_send(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.pane.on_input = lambda _: cli.pane.exit(1)
        cli.draft = "half a thought"
        cli.draw()

        with pytest.raises(SessionEnded, match="exited"):
            await send(session, "hello", clear_draft=True)
        assert cli.pastes() == []


@pytest.mark.contract("I2")
async def test_a_terminal_that_hangs_before_the_paste_says_that_nothing_was_sent(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        bench.terminal.available = False

        with pytest.raises(TmuxUnavailable, match="nothing was sent"):
            await send(session, "hello")
        assert cli.pane.inputs == []


@pytest.mark.contract("I2")
async def test_a_text_that_tmux_could_not_be_handed_is_refused(bench: Bench) -> None:
    async with bench.ready() as (session, cli):

        async def hang() -> None:
            bench.terminal.available = False

        with pytest.raises(SendRefused, match="nothing was sent"):
            await send(session, "hello", claim=hang)
        assert cli.pane.inputs == []
