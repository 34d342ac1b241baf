"""A CLI that puts an interrupted prompt back into its composer, and one whose turns end without their answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_agent.adapter import Answered, PromptAccepted, TurnEnded, TurnOutcome
from mcp_agent.errors import SendRefused
from mcp_agent.sessions.input.sending import SendOutcome, send
from mcp_agent.tmux.memory import Pressed

if TYPE_CHECKING:
    from mcp_agent.tmux.memory import Input
    from tests.sessions.conftest import Bench, Cli

pytestmark = pytest.mark.anyio


def clears_by_key(cli: Cli) -> None:
    """`C-u` empties the composer."""
    take = cli.take

    def wrapped(received: Input) -> None:
        if received == Pressed("C-u"):
            cli.draft = ""
            cli.draw()
        else:
            take(received)

    cli.pane.on_input = wrapped


@pytest.mark.contract("I1")
async def test_a_prompt_of_ours_that_came_back_is_nobodys_draft(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        clears_by_key(cli)
        await send(session, "work for long")
        cli.tell(ended="interrupted")
        cli.draft = "work for long"
        cli.draw()

        sent = await send(session, "something else")

        assert sent.outcome is SendOutcome.DELIVERED
        assert cli.submitted == ["work for long", "something else"]


@pytest.mark.contract("I1")
@pytest.mark.parametrize("draft", ["work for long, and", "mine"])
async def test_a_draft_of_somebodys_is_still_theirs_after_an_interrupt(bench: Bench, draft: str) -> None:
    async with bench.ready() as (session, cli):
        clears_by_key(cli)
        await send(session, "work for long")
        cli.tell(ended="interrupted")
        cli.draft = draft
        cli.draw()

        with pytest.raises(SendRefused, match="somebody's draft"):
            await send(session, "something else")
        assert cli.draft == draft


@pytest.mark.contract("I1")
@pytest.mark.parametrize("outcome", ["completed", "failed"])
async def test_a_prompt_that_was_not_interrupted_does_not_come_back_by_itself(bench: Bench, outcome: str) -> None:
    async with bench.ready() as (session, cli):
        clears_by_key(cli)
        await send(session, "work for long")
        cli.tell(ended=outcome)
        cli.draft = "work for long"
        cli.draw()

        with pytest.raises(SendRefused, match="somebody's draft"):
            await send(session, "something else")


@pytest.mark.contract("X3")
async def test_the_latest_answer_before_an_end_is_the_turns_final_text(bench: Bench) -> None:
    async with bench.observed() as (session, _):
        session.apply(PromptAccepted("work"))
        session.apply(Answered("let me see"))
        session.apply(Answered("done"))
        session.apply(TurnEnded(TurnOutcome.COMPLETED))

        (turn,) = session.turns.all
        assert turn.ended is not None
        assert turn.ended.final_text == "done"


@pytest.mark.contract("X3")
async def test_an_answer_that_is_told_after_the_end_completes_it_and_changes_no_other(bench: Bench) -> None:
    async with bench.observed() as (session, _):
        session.apply(Answered("of no turn"))
        for text in ("", "told with the end"):
            session.apply(PromptAccepted("work"))
            session.apply(TurnEnded(TurnOutcome.COMPLETED, text))
            session.apply(Answered("late"))

        assert [turn.ended and turn.ended.final_text for turn in session.turns.all] == ["late", "told with the end"]
