"""A send while something goes wrong, or somebody else types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import SessionEnded
from mcp_agent.sessions.input.sending import send
from mcp_agent.tmux.memory import Input, Pasted

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = pytest.mark.anyio


@pytest.mark.contract("I2")
async def test_the_end_of_a_persons_draft_is_not_taken_for_our_text(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tells = False

        def type_something(_: str) -> None:
            cli.draft = "y"
            cli.draw()

        cli.on_submit = type_something

        assert (await send(session, "answer with y")).outcome == "unconfirmed"
        assert cli.keys() == ["Enter"]


@pytest.mark.contract("I2")
async def test_another_prompt_that_is_accepted_meanwhile_is_no_proof_of_ours(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tells = False
        cli.on_submit = lambda _: cli.tell(accepted="what a person typed")

        assert (await send(session, "hello")).outcome == "unconfirmed"
        assert [turn.prompt for turn in session.turns.all] == ["what a person typed"]


@pytest.mark.contract("I2")
async def test_late_proof_of_an_earlier_identical_prompt_is_not_proof_of_this_one(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tells = False
        assert (await send(session, "go on")).outcome == "unconfirmed"

        def take(received: Input) -> None:
            cli.take(received)
            if isinstance(received, Pasted):
                cli.tell(accepted="go on")

        cli.pane.on_input = take

        assert (await send(session, "go on")).outcome == "unconfirmed"


@pytest.mark.contract("I1")
async def test_a_draft_that_a_person_begins_in_the_last_moment_is_not_submitted(bench: Bench) -> None:
    async with bench.ready() as (session, cli):

        def paste_behind_a_draft(received: Input) -> None:
            if isinstance(received, Pasted):
                cli.draft = "rm -rf "
            cli.take(received)

        cli.pane.on_input = paste_behind_a_draft

        assert (await send(session, "hello")).outcome == "unconfirmed"
        assert cli.keys() == []


@pytest.mark.contract("I1", "S3")
async def test_a_question_that_comes_up_after_the_paste_is_not_answered_by_our_submit(bench: Bench) -> None:
    async with bench.ready() as (session, cli):

        def ask_after_the_paste(received: Input) -> None:
            cli.take(received)
            cli.status = "[permission?]"
            cli.draw()

        cli.pane.on_input = ask_after_the_paste

        assert (await send(session, "hello")).outcome == "unconfirmed"
        assert cli.keys() == []


@pytest.mark.contract("I1", "I2")
async def test_a_cli_that_dies_between_paste_and_submit_ends_the_send_with_nothing_submitted(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.draws_pastes = False

        def die(_: Input) -> None:
            cli.pane.exit(1)

        cli.pane.on_input = die

        with pytest.raises(SessionEnded, match=r"exited \(status 1\)"):
            await send(session, "hello")
        assert cli.keys() == []


@pytest.mark.contract("I2")
async def test_a_cli_that_dies_on_the_submit_leaves_it_unconfirmed(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tells = False
        cli.on_submit = lambda _: cli.pane.exit(1)
        started = anyio.current_time()

        assert (await send(session, "hello")).outcome == "unconfirmed"
        assert anyio.current_time() - started < 3


@pytest.mark.contract("I2")
async def test_a_terminal_that_fails_after_the_paste_leaves_the_send_unconfirmed(bench: Bench) -> None:
    async with bench.ready() as (session, cli):

        def hang(_: Input) -> None:
            bench.terminal.available = False

        cli.pane.on_input = hang

        assert (await send(session, "hello")).outcome == "unconfirmed"
        assert cli.keys() == []


@pytest.mark.contract("I2")
async def test_a_terminal_that_fails_after_the_submit_hides_no_proof(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tells = False

        def hang(text: str) -> None:
            bench.terminal.available = False
            cli.spool(accepted=text)

        cli.on_submit = hang

        assert (await send(session, "hello")).outcome == "delivered"


@pytest.mark.contract("I1")
@pytest.mark.parametrize("seconds", [0.001, 3, 11])
async def test_a_sender_that_leaves_in_the_middle_leaves_no_expectation_and_no_lock(
    bench: Bench, seconds: float
) -> None:
    async with bench.ready() as (session, cli):
        cli.swallows = 1000
        with anyio.move_on_after(seconds) as scope:
            await send(session, "hello")

        assert scope.cancelled_caught == (seconds < 10)
        assert session.input_lock.statistics().locked is False
        cli.swallows, cli.draft = 0, ""
        cli.draw()
        cli.tell(accepted="hello")
        assert (await send(session, "something else")).outcome == "queued"
