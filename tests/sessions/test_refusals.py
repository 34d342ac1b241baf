"""Prompts that are refused, with nothing placed and nothing pressed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import SendRefused, SessionBlocked, SessionEnded, TmuxUnavailable
from mcp_agent.sessions.input.sending import LONGEST_PROMPT_BYTES, send
from mcp_agent.sessions.signals import Stopped

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = pytest.mark.anyio


@pytest.mark.contract("I1")
async def test_a_foreign_draft_is_left_alone(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.draft = "half a thought"
        cli.draw()

        with pytest.raises(SendRefused, match="draft"):
            await send(session, "hello")
        assert cli.pane.inputs == []
        assert cli.draft == "half a thought"


@pytest.mark.contract("I1")
@pytest.mark.parametrize("screen", ["nothing at all", ""])
async def test_a_screen_without_a_prompt_is_refused(bench: Bench, screen: str) -> None:
    async with bench.ready() as (session, cli):
        cli.pane.show(screen)

        with pytest.raises(SendRefused, match="no prompt"):
            await send(session, "hello")
        assert cli.pane.inputs == []


@pytest.mark.contract("I1", "S3")
async def test_a_permission_question_is_never_answered_by_a_prompt(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.status = "[permission?]"
        cli.draw()

        with pytest.raises(SendRefused, match="permission"):
            await send(session, "hello")
        assert cli.pane.inputs == []


@pytest.mark.contract("I1", "S3")
async def test_a_dialog_refuses_a_prompt_and_says_what_to_do(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.pane.show("[dialog login]", "* Log in")

        with pytest.raises(SessionBlocked, match="answer login yourself"):
            await send(session, "hello")
        assert cli.pane.inputs == []


@pytest.mark.contract("I1", "B6")
async def test_a_session_whose_bridge_is_not_up_is_refused(bench: Bench) -> None:
    async with bench.observed() as (session, pane):
        bench.cli(pane)

        with pytest.raises(SendRefused, match="starting"):
            await send(session, "hello")
        assert pane.inputs == []


@pytest.mark.contract("I1")
async def test_a_session_that_is_over_is_refused_with_how_it_ended(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.pane.exit(3)
        await session.wait_until(lambda: session.over is not None, limit=timedelta(seconds=5))

        with pytest.raises(SessionEnded, match=r"exited \(status 3\)"):
            await send(session, "hello")
        assert cli.pane.inputs == []


@pytest.mark.contract("I1")
async def test_a_stopped_session_takes_nothing(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        session.apply(Stopped())

        with pytest.raises(SessionEnded, match="stopped"):
            await send(session, "hello")
        assert cli.pane.inputs == []


@pytest.mark.contract("I1")
async def test_a_pane_that_goes_before_the_paste_ends_the_send_with_nothing_sent(bench: Bench) -> None:
    session, pane = await bench.launch()
    session.bridge_is_up()
    bench.cli(pane)
    pane.vanish()

    with pytest.raises(SessionEnded):
        await send(session, "hello")


@pytest.mark.contract("I1")
async def test_a_terminal_that_does_not_answer_before_the_paste_refuses_with_nothing_sent(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        bench.terminal.available = False

        with pytest.raises(TmuxUnavailable):
            await send(session, "hello")
        assert cli.pane.inputs == []


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("a\x1b[201~b", "U\\+001B"),
        ("a\x00b", "U\\+0000"),
        ("a\x7fb", "U\\+007F"),
        ("a\x9bb", "U\\+009B"),
        ("a\ud800b", "U\\+D800"),
        ("é" * (LONGEST_PROMPT_BYTES // 2) + "x", "bytes"),
    ],
)
async def test_a_text_that_could_not_arrive_as_it_is_is_refused(bench: Bench, text: str, reason: str) -> None:
    async with bench.ready() as (session, cli):
        with pytest.raises(SendRefused, match=reason):
            await send(session, text)
        assert cli.pane.inputs == []
