"""One send as one transaction, in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.adapter import Composer
from mcp_agent.sessions.input.composer import shows
from mcp_agent.sessions.input.sending import LONGEST_PROMPT_BYTES, UNCONFIRMED, Sent, send
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.words import normal
from mcp_agent.tmux.memory import Input, Pasted, Pressed

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = pytest.mark.anyio


def turn_of(session: LiveSession, sent: Sent) -> str:
    turn = session.turns.get(sent.turn_id or "")
    assert turn is not None
    return turn.prompt


@pytest.mark.contract("I1", "I2")
async def test_a_prompt_is_placed_once_then_submitted_by_a_separate_key_and_proved(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        sent = await send(session, "fix the parser\nand its tests")

        assert sent.outcome == "delivered"
        assert turn_of(session, sent) == "fix the parser\nand its tests"
        assert cli.pane.inputs == [Pasted("fix the parser\nand its tests"), Pressed("Enter")]


@pytest.mark.contract("I1")
async def test_submit_is_not_pressed_before_the_text_is_seen(bench: Bench) -> None:
    async with bench.ready() as (session, cli), anyio.create_task_group() as group:
        cli.draws_pastes = False
        keys_before_it_showed: list[str] = []

        async def draw_late() -> None:
            await anyio.sleep(8)
            keys_before_it_showed.extend(cli.keys())
            cli.draw()

        group.start_soon(draw_late)

        assert (await send(session, "hello")).outcome == "delivered"
        assert keys_before_it_showed == []
        assert cli.keys() == ["Enter"]


@pytest.mark.contract("I1")
async def test_a_text_that_never_shows_is_unconfirmed_and_never_submitted(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.draws_pastes = False

        assert (await send(session, "hello")).outcome == "unconfirmed"
        assert cli.pane.inputs == [Pasted("hello")]


@pytest.mark.contract("I2")
async def test_a_swallowed_submit_is_pressed_again_and_the_text_is_not_pasted_again(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.swallows = 2

        assert (await send(session, "hello")).outcome == "delivered"
        assert cli.keys() == ["Enter"] * 3
        assert cli.pastes() == cli.submitted == ["hello"]


@pytest.mark.contract("I2")
async def test_a_submit_that_is_never_taken_is_unconfirmed_after_a_bounded_number_of_presses(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.swallows = 1000

        assert await send(session, "hello") == UNCONFIRMED
        assert cli.keys() == ["Enter"] * 5


@pytest.mark.contract("I2")
async def test_submit_is_not_pressed_again_when_the_composer_is_empty_and_no_proof_came(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tells = False

        assert (await send(session, "hello")).outcome == "unconfirmed"
        assert cli.keys() == ["Enter"]


@pytest.mark.contract("I2")
async def test_submit_is_not_pressed_again_into_a_cli_that_began_to_work_but_redraws_slowly(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tells = cli.clears = False

        def work(text: str) -> None:
            cli.status, cli.draft = "[busy]", text
            cli.draw()

        cli.on_submit = work

        assert (await send(session, "hello")).outcome == "unconfirmed"
        assert cli.keys() == ["Enter"]


@pytest.mark.contract("I2")
@pytest.mark.parametrize("text", ["hello", "one\n\n  two\ttabbed", "/compact is a word here", "x" * 5000])
async def test_proof_is_tied_to_the_words_that_were_sent(bench: Bench, text: str) -> None:
    async with bench.ready() as (session, cli):
        sent = await send(session, text)

        assert sent.outcome == "delivered"
        assert cli.submitted == [bench.adapter.guard(text)]


@pytest.mark.contract("I2")
async def test_a_turn_that_ends_before_the_send_returns_is_still_its_turn(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.on_submit = lambda _: cli.tell(ended="completed", text="done")

        sent = await send(session, "hello")

        assert sent.outcome == "delivered"
        turn = session.turns.get(sent.turn_id or "")
        assert turn is not None
        assert turn.ended is not None
        assert turn.ended.final_text == "done"
        assert session.state == "ready"


@pytest.mark.contract("I2")
async def test_proof_whose_teller_never_reached_the_server_is_found_all_the_same(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.told = lambda: None

        assert (await send(session, "hello")).outcome == "delivered"


@pytest.mark.contract("I2")
async def test_a_chip_stands_for_a_long_text(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.makes_chips = True
        cli.swallows = 1

        assert (await send(session, "line\n" * 60)).outcome == "delivered"
        assert cli.keys() == ["Enter"] * 2


@pytest.mark.contract("I2", "I4")
async def test_live_input_is_queued_into_the_turn_that_runs(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        first = await send(session, "start")
        cli.status = "[busy]"
        cli.draw()

        second = await send(session, "and this too")

        assert (first.outcome, second.outcome) == ("delivered", "queued")
        assert first.turn_id == second.turn_id
        assert session.turns.current is not None
        assert session.turns.current.live_inputs == ("and this too",)


@pytest.mark.contract("I1")
async def test_concurrent_sends_are_one_transaction_after_the_other(bench: Bench) -> None:
    texts = [f"prompt {number}" for number in range(5)]
    async with bench.ready() as (session, cli):
        async with anyio.create_task_group() as group:
            for text in texts:
                group.start_soon(send, session, text)

        assert sorted(cli.submitted) == texts
        kinds = [type(received) for received in cli.pane.inputs]
        assert kinds == [Pasted, Pressed] * 5


@pytest.mark.contract("I1")
async def test_a_composer_that_still_shows_the_last_prompt_is_waited_for(bench: Bench) -> None:
    async with bench.ready() as (session, cli), anyio.create_task_group() as group:
        cli.clears = False
        assert (await send(session, "one")).outcome == "delivered"

        async def clear_late() -> None:
            await anyio.sleep(1)
            cli.draw()

        group.start_soon(clear_late)

        assert (await send(session, "two")).outcome == "queued"


@pytest.mark.contract("I3")
async def test_the_longest_text_is_taken(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.makes_chips = True
        text = "é" * (LONGEST_PROMPT_BYTES // 2)

        assert (await send(session, text)).outcome == "delivered"
        assert cli.submitted == [text]


@pytest.mark.parametrize(
    ("draft", "text", "holds"),
    [
        ("hello", "hello", True),
        ("hello  \n world", "hello world", True),
        ("", "hello", False),
        ("lo", "hello", False),
        ("w " * 40, "some words before " + "w " * 60, True),
        ("hello you", "hello", False),
        ("hel", "hello", False),
        ("caf\u00e9", "cafe\u0301", True),
        ("abc", "\ufeffa\u00adb\u202ec\U000e0041", True),
        ("caf\u00e9", "cafe", False),
    ],
)
def test_a_composer_holds_the_text_or_a_long_end_of_it(draft: str, text: str, holds: bool) -> None:
    assert shows(Composer(draft), text) is holds


@pytest.mark.contract("I2")
async def test_proof_of_the_last_press_is_found_without_its_teller_and_without_a_redraw(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.told = lambda: None
        cli.clears = False
        cli.swallows = 4

        assert (await send(session, "hello")).outcome == "delivered"
        assert cli.keys() == ["Enter"] * 5


@pytest.mark.contract("I2", "I3")
@pytest.mark.parametrize("text", ["cafe\u0301", "soft\u00adhyphen \u202eand turned\ufeff \U000e0041"])
async def test_a_cli_that_composes_and_strips_what_nobody_sees_still_proves_the_prompt(bench: Bench, text: str) -> None:
    async with bench.ready() as (session, cli):

        def write_plainly(received: Input) -> None:
            cli.take(Pasted(normal(received.text)) if isinstance(received, Pasted) else received)

        cli.pane.on_input = write_plainly

        assert (await send(session, text)).outcome == "delivered"
        assert cli.submitted == [normal(text)]
