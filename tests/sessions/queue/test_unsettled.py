"""What becomes of a message that a server was placing when it died."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.sessions.input.sending import SendMode
from mcp_agent.tmux.memory import Input, Pressed

if TYPE_CHECKING:
    from tests.sessions.conftest import Cli
    from tests.sessions.queue.conftest import Desks

pytestmark = [pytest.mark.anyio, pytest.mark.contract("I5")]


async def test_a_prompt_that_the_cli_told_of_meanwhile_arrived(open_desk: Desks) -> None:
    async with open_desk() as desk:
        message = await desk.left_claimed("fix the parser")
        desk.cli.spool(accepted="fix the parser")
        desk.queue.wake(desk.session)

        (settled,) = await desk.until("delivered")
        turn = desk.session.turns.get(settled.turn_id or "")
        assert turn is not None
        assert (turn.prompt, settled.id) == ("fix the parser", message.id)
        assert desk.cli.pane.inputs == []


async def test_a_prompt_that_the_cli_told_of_before_the_end_arrived(open_desk: Desks) -> None:
    async with open_desk() as desk:
        await desk.left_claimed("fix the parser")
        desk.cli.tell(accepted="fix the parser")
        desk.cli.tell(ended="completed")
        desk.queue.wake(desk.session)
        await desk.until("delivered")


async def test_live_input_that_the_cli_told_of_is_held_by_it(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        await desk.left_claimed("and the tests")
        desk.cli.tell(accepted="and the tests", queued=True)
        desk.queue.wake(desk.session)

        (settled,) = await desk.until("queued")
        assert desk.session.turns.current is not None
        assert settled.turn_id == desk.session.turns.current.id


async def test_without_a_word_of_the_cli_it_is_unconfirmed_and_never_sent_again(open_desk: Desks) -> None:
    async with open_desk() as desk:
        await desk.left_claimed("lost")
        desk.queue.wake(desk.session)
        await desk.queued("next")

        lost, _ = await desk.until("unconfirmed", "delivered")
        assert "the server died" in (lost.reason or "")
        await anyio.sleep(3600)
        assert desk.cli.submitted == ["next"]


@pytest.mark.parametrize(("earlier", "ended"), [("fix it", True), ("another", True), ("another", False)])
async def test_an_earlier_prompt_and_another_one_are_no_evidence(open_desk: Desks, earlier: str, ended: bool) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted=earlier)
        if ended:
            desk.cli.tell(ended="completed")
        await desk.left_claimed("fix it")
        desk.queue.wake(desk.session)
        await desk.until("unconfirmed")


async def test_the_turn_of_another_message_with_the_same_words_is_no_evidence(open_desk: Desks) -> None:
    async with open_desk() as desk:
        await desk.left_claimed("go on")
        await desk.queue.send(desk.session, "go on", mode=SendMode.NOW)
        desk.queue.wake(desk.session)
        await desk.until("unconfirmed", "delivered")


async def test_a_send_that_runs_is_no_dead_servers(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.swallows = 1
        desk.queue.owner.start_soon(partial(desk.queue.send, desk.session, "hello", mode=SendMode.NOW))
        await anyio.sleep(1)
        desk.queue.wake(desk.session)
        await anyio.sleep(0.5)
        assert await desk.states() == [("hello", "sending")]
        await desk.until("delivered")


async def test_a_text_that_stands_in_the_composer_is_taken_out_and_the_next_one_is_delivered(
    open_desk: Desks,
) -> None:
    async with open_desk() as desk:
        desk.cli.draft = "half way"
        desk.cli.draw()
        clears(desk.cli)
        await desk.left_claimed("half way")
        desk.queue.wake(desk.session)
        await desk.queued("next")

        lost, _ = await desk.until("unconfirmed", "delivered")
        assert "was taken out" in (lost.reason or "")
        assert desk.cli.submitted == ["next"]


@pytest.mark.contract("I1")
@pytest.mark.parametrize("draft", ["half way and more", "[chip of 8]"])
async def test_what_may_be_somebody_elses_is_left_in_the_composer(open_desk: Desks, draft: str) -> None:
    async with open_desk() as desk:
        desk.cli.draft = draft
        desk.cli.draw()
        await desk.left_claimed("half way")
        desk.queue.wake(desk.session)

        await desk.until("unconfirmed")
        assert desk.cli.pane.inputs == []


async def test_proof_that_comes_late_is_taken(open_desk: Desks) -> None:
    async with open_desk() as desk:
        message = await desk.left_claimed("slow")
        desk.queue.wake(desk.session)
        await desk.until("unconfirmed")
        desk.cli.tell(accepted="slow")

        (settled,) = await desk.until("delivered")
        turn = desk.session.turns.get(settled.turn_id or "")
        assert turn is not None
        assert turn.message_id == message.id


@pytest.mark.contract("I2")
async def test_late_proof_of_a_send_is_taken_and_is_none_of_the_next_one(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tells = False
        first = await desk.queue.send(desk.session, "go on", mode=SendMode.NOW)
        assert first.outcome == "unconfirmed"
        desk.cli.tells = True
        second = await desk.queue.send(desk.session, "go on", mode=SendMode.NOW)
        assert second.outcome == "delivered"
        await desk.until("unconfirmed", "delivered")

        desk.cli.tell(ended="completed")
        desk.cli.tell(accepted="go on")
        await desk.until("delivered", "delivered")


async def test_a_session_that_is_lost_settles_what_was_claimed_and_keeps_what_is_queued(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        await desk.left_claimed("claimed")
        await desk.queued("queued")
        desk.cli.pane.vanish()
        with anyio.fail_after(60):
            await desk.until("unconfirmed", "waiting")
            while desk.session.over is None:  # noqa: ASYNC110 -- nothing tells
                await anyio.sleep(0.05)
        assert desk.queue.obstacle(desk.session) == "the session is lost"


def clears(cli: Cli) -> None:
    """The CLI empties its composer on C-u."""

    def take(received: Input) -> None:
        if received == Pressed("C-u"):
            cli.draft = ""
            cli.draw()
        else:
            cli.take(received)

    cli.pane.on_input = take
