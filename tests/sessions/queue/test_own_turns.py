"""Prompts that ask for a turn of their own, and live input whose turn ends before it was taken in."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import SendRefused, SessionBlocked, UnknownMessage
from mcp_agent.sessions.input.held import BEGUN_WITHIN
from mcp_agent.sessions.input.queue import MessageQueue
from mcp_agent.sessions.input.sending import SendMode, Sent

if TYPE_CHECKING:
    from tests.sessions.queue.conftest import Desk, Desks

pytestmark = pytest.mark.anyio

LONG = timedelta(days=1)


async def ask(desk: Desk, text: str) -> Sent:
    return await desk.queue.send(desk.session, text, mode=SendMode.TURN)


@pytest.mark.contract("I4")
async def test_a_prompt_for_an_idle_session_begins_its_turn_at_once(open_desk: Desks) -> None:
    async with open_desk() as desk:
        asked = await ask(desk, "hello")

        turn = desk.session.turns.current
        assert turn is not None
        assert (asked.outcome, asked.turn_id, turn.message_id) == ("delivered", turn.id, asked.message_id)
        (message,) = await desk.all()
        assert (message.claimed_at or 0) >= message.created_at


@pytest.mark.contract("I4", "I5")
async def test_a_prompt_waits_while_a_turn_runs_and_joins_none(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="somebody else's")
        asked = await ask(desk, "mine")
        assert (asked.outcome, desk.cli.pane.inputs) == ("waiting", [])

        desk.cli.tell(ended="completed")
        message = await desk.queue.decided(desk.session, asked.message_id or "", limit=LONG)
        turns = desk.session.turns.all
        assert (message.state, message.turn_id) == ("delivered", turns[1].id)
        assert [(turn.prompt, turn.live_inputs) for turn in turns] == [("somebody else's", ()), ("mine", ())]


@pytest.mark.contract("I5")
async def test_a_prompt_goes_behind_what_waits_and_two_at_once_get_a_turn_each(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.ends_turns()
        async with anyio.create_task_group() as group:
            for text in ("one", "two", "three"):
                group.start_soon(ask, desk, text)
        await desk.until("delivered", "delivered", "delivered")

        assert sorted(desk.cli.submitted) == ["one", "three", "two"]
        assert all(turn.live_inputs == () for turn in desk.session.turns.all)


@pytest.mark.contract("I4")
async def test_a_turn_that_begins_at_the_last_moment_is_not_joined(open_desk: Desks) -> None:
    async with open_desk() as desk:
        async with desk.session.send_lock:
            results: list[Sent] = []

            async def ask_now() -> None:
                results.append(await ask(desk, "mine"))

            desk.queue.owner.start_soon(ask_now)
            await anyio.sleep(1)
            desk.cli.tell(accepted="somebody was first")
        with anyio.fail_after(60):
            while not results:  # noqa: ASYNC110 -- nothing tells
                await anyio.sleep(0.05)
        assert (results[0].outcome, desk.cli.pane.inputs) == ("waiting", [])


async def test_a_prompt_that_nothing_but_a_person_can_make_way_for_is_refused(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.draft = "half a thought"
        desk.cli.draw()
        with pytest.raises(SendRefused, match="draft"):
            await ask(desk, "mine")
        desk.cli.pane.show("[dialog other]", "* Yes", "- No")
        with pytest.raises(SessionBlocked):
            await ask(desk, "mine")
        assert await desk.all() == []


async def test_whoever_waits_for_a_message_is_told_by_its_limit_and_by_the_end_of_the_session(
    open_desk: Desks,
) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        asked = (await ask(desk, "mine")).message_id or ""
        for limit in (timedelta(0), timedelta(minutes=1)):
            assert (await desk.queue.decided(desk.session, asked, limit=limit)).state == "waiting"
        with pytest.raises(UnknownMessage):
            await desk.queue.decided(desk.session, "m-0", limit=LONG)

        desk.cli.pane.vanish()
        assert (await desk.queue.decided(desk.session, asked, limit=LONG)).state == "waiting"
        assert desk.session.over is not None
        await desk.queue.withdraw(desk.session, asked)
        assert (await desk.queue.decided(desk.session, asked, limit=LONG)).state == "withdrawn"


async def steer(desk: Desk, text: str) -> Sent:
    return await desk.queue.send(desk.session, text, mode=SendMode.STEER)


@pytest.mark.contract("I2", "I4")
@pytest.mark.parametrize("restarted", [False, True])
async def test_live_input_that_runs_as_a_turn_of_its_own_after_all_belongs_to_that_turn(
    open_desk: Desks, restarted: bool
) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        held = await steer(desk, "left")
        assert (held.outcome, held.turn_id) == ("queued", desk.session.turns.all[0].id)
        if restarted:
            MessageQueue(desk.queue.messages, desk.queue.owner).wake(desk.session)
            await anyio.sleep(1)
        await anyio.sleep(3600)
        desk.cli.tell(ended="interrupted")
        await anyio.sleep(1)
        desk.cli.tell(accepted="left")

        (message,) = await desk.until("delivered")
        turn = desk.session.turns.current
        assert turn is not None
        assert (message.turn_id, turn.message_id, turn.submission) == (turn.id, message.id, "delivered")


@pytest.mark.contract("I2")
async def test_live_input_that_was_taken_in_stays_with_its_turn_whoever_says_the_same_later(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        held = await steer(desk, "go on")
        desk.cli.tell(ended="completed")
        await anyio.sleep(BEGUN_WITHIN.total_seconds() + 1)
        desk.cli.tell(accepted="go on")

        (message,) = await desk.until("queued")
        assert message.turn_id == held.turn_id
        assert desk.session.turns.all[1].message_id is None


@pytest.mark.contract("I2")
async def test_the_same_words_sent_again_are_the_newer_messages(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        await steer(desk, "go on")
        desk.cli.tell(ended="completed")
        second = await desk.queue.send(desk.session, "go on", mode=SendMode.NOW)

        _, newer = await desk.until("queued", "delivered")
        assert (newer.id, newer.turn_id) == (second.message_id, desk.session.turns.all[1].id)
