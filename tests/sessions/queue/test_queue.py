"""Messages that are kept until the session can take them, in virtual time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.adapter import LimitedBy, TurnOutcome
from mcp_agent.errors import NotWithdrawn, SendRefused, SessionEnded, StoreUnusable, UnknownMessage
from mcp_agent.sessions.input.interrupting import interrupt
from mcp_agent.sessions.input.messages import Message, Messages
from mcp_agent.sessions.input.queue import MessageQueue
from mcp_agent.sessions.input.sending import SendMode, SendOutcome
from mcp_agent.sessions.signals import Stopped
from mcp_agent.tmux.memory import Input, Pasted, Pressed

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench
    from tests.sessions.queue.conftest import Desks

pytestmark = [pytest.mark.anyio, pytest.mark.contract("I5")]


async def test_a_message_for_an_idle_session_is_delivered_at_once(open_desk: Desks) -> None:
    async with open_desk() as desk:
        sent = await desk.queued("hello")
        (message,) = await desk.until("delivered")

        assert (sent.outcome, sent.message_id) == (SendOutcome.WAITING, message.id)
        turn = desk.session.turns.get(message.turn_id or "")
        assert turn is not None
        assert (turn.prompt, turn.message_id) == ("hello", message.id)


async def test_messages_are_delivered_in_order_one_after_each_turn(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.ends_turns()
        for number in range(4):
            await desk.queued(f"message {number}")
        messages = await desk.until(*["delivered"] * 4)

        assert desk.cli.submitted == [f"message {number}" for number in range(4)]
        assert len({message.turn_id for message in messages}) == 4
        assert all(turn.live_inputs == () for turn in desk.session.turns.all)


async def test_a_message_is_kept_while_a_turn_runs_and_delivered_when_it_ends(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        await desk.queued("later")
        await anyio.sleep(3600)
        assert await desk.states() == [("later", "waiting")]
        assert desk.queue.obstacle(desk.session) == "a turn runs"

        desk.cli.tell(ended="completed")
        ended = anyio.current_time()
        await desk.until("delivered")
        assert anyio.current_time() - ended < 0.3


async def test_it_is_claimed_on_disk_before_its_text_is_placed(open_desk: Desks) -> None:
    async with open_desk() as desk:
        states: list[str] = []

        def take(received: Input) -> None:
            states.extend(message.state for message in desk.session.turns.store.messages(desk.session.id))
            desk.cli.take(received)

        desk.cli.pane.on_input = take
        await desk.queued("hello")
        await desk.until("delivered")
        assert states == ["sending", "sending"]


async def test_any_number_of_triggers_deliver_it_once(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        await desk.queued("once")
        desk.cli.tell(ended="completed")
        for _ in range(10):
            desk.queue.wake(desk.session)
            desk.session.hint()
        await desk.until("delivered")
        desk.queue.wake(desk.session)
        await anyio.sleep(60)
        assert desk.cli.submitted == ["once"]


async def test_two_queues_on_one_session_deliver_a_message_once(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        await desk.queued("once")
        MessageQueue(desk.queue.messages, desk.queue.owner).wake(desk.session)
        desk.cli.tell(ended="completed")
        await desk.until("delivered")
        await anyio.sleep(60)
        assert desk.cli.submitted == ["once"]


@pytest.mark.contract("I1")
async def test_a_draft_is_waited_for_and_left_alone(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.draft = "half a thought"
        desk.cli.draw()
        await desk.queued("patient")
        await anyio.sleep(3600)
        assert await desk.states() == [("patient", "waiting")]
        assert desk.cli.pane.inputs == []

        desk.cli.draft = ""
        desk.cli.draw()
        await desk.until("delivered")


async def test_a_message_waits_behind_a_question_and_is_no_answer_to_it(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.status = "[permission?]"
        desk.cli.draw()
        await desk.session.look()
        await desk.queued("patient")
        await anyio.sleep(600)
        assert desk.cli.pane.inputs == []

        desk.cli.status = ""
        desk.cli.draw()
        await desk.until("delivered")


async def test_a_limited_session_gets_its_messages_once_the_limit_is_over(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.session.apply(LimitedBy("usage"))
        await desk.queued("patient")
        await anyio.sleep(3600)
        assert (await desk.states(), desk.queue.obstacle(desk.session)) == (
            [("patient", "waiting")],
            "the session is limited",
        )

        desk.session.apply(LimitedBy("usage", resets_at=datetime.now(UTC) - timedelta(seconds=1)))
        await desk.until("delivered")


async def test_a_withdrawn_message_is_not_delivered(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        first, _ = await desk.queued("first"), await desk.queued("second")
        await desk.queue.withdraw(desk.session, first.message_id or "")
        desk.cli.tell(ended="completed")

        await desk.until("withdrawn", "delivered")
        assert desk.cli.submitted == ["second"]


async def test_what_is_not_queued_cannot_be_withdrawn(open_desk: Desks) -> None:
    async with open_desk() as desk:
        sent = await desk.queued("hello")
        await desk.until("delivered")

        with pytest.raises(NotWithdrawn, match="was not withdrawn: it was delivered"):
            await desk.queue.withdraw(desk.session, sent.message_id or "")
        with pytest.raises(UnknownMessage):
            await desk.queue.withdraw(desk.session, "m-0")


async def test_a_message_that_is_withdrawn_while_it_is_about_to_be_placed_is_not_placed(open_desk: Desks) -> None:
    async with open_desk() as desk:
        async with desk.session.input_lock:
            sent = await desk.queued("hello")
            await anyio.sleep(5)
            await desk.queue.withdraw(desk.session, sent.message_id or "")
        await anyio.sleep(60)
        assert desk.cli.pane.inputs == []


@pytest.mark.contract("C5")
async def test_a_stop_refuses_what_is_queued_and_says_why(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        await desk.queued("first")
        desk.session.apply(Stopped())
        await desk.queue.refuse_all(desk.session)

        (message,) = await desk.until("refused")
        assert message.reason == "the session was stopped"
        with pytest.raises(SessionEnded):
            await desk.queued("second")
        assert len(await desk.all()) == 1


@pytest.mark.contract("I4")
async def test_an_interrupt_overtakes_what_is_queued(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.tell(accepted="long work")
        await desk.queued("later")

        def take(received: Input) -> None:
            desk.cli.take(received)
            if received == Pressed("Escape"):
                desk.cli.tell(ended="interrupted")

        desk.cli.pane.on_input = take
        assert await interrupt(desk.session)
        await desk.until("delivered")
        assert desk.cli.pane.inputs == [Pressed("Escape"), Pasted("later"), Pressed("Enter")]


@pytest.mark.contract("I4")
async def test_a_steer_joins_the_turn_that_runs_and_is_refused_without_one(open_desk: Desks) -> None:
    async with open_desk() as desk:
        with pytest.raises(SendRefused, match="no turn runs"):
            await desk.queue.send(desk.session, "left", mode=SendMode.STEER)
        assert (await desk.all(), desk.cli.pane.inputs) == ([], [])

        desk.cli.tell(accepted="long work")
        steered = await desk.queue.send(desk.session, "left", mode=SendMode.STEER)
        (message,) = await desk.all()
        assert (steered.outcome, message.state, message.kind) == ("queued", "queued", "steer")


@pytest.mark.contract("I2")
async def test_a_prompt_that_was_sent_at_once_is_on_record_too(open_desk: Desks) -> None:
    async with open_desk() as desk:
        sent = await desk.queue.send(desk.session, "hello", mode=SendMode.NOW)
        desk.cli.swallows = 1000
        desk.cli.tell(ended="completed")
        lost = await desk.queue.send(desk.session, "swallowed", mode=SendMode.NOW)

        one, two = await desk.all()
        assert (one.id, one.state, one.turn_id) == (sent.message_id, "delivered", sent.turn_id)
        assert (two.id, two.state) == (lost.message_id, "unconfirmed")
        assert two.reason == lost.reason
        assert "submit was pressed" in lost.reason


async def test_a_message_that_tmux_could_not_be_handed_is_queued_still(open_desk: Desks, bench: Bench) -> None:
    async with open_desk() as desk:

        class Hanging(Messages):
            """tmux stops answering with the first claim."""

            async def claim(self, message: Message) -> bool:
                bench.terminal.available = bool(states)
                states.append(message.state)
                return await Messages.claim(self, message)

        states: list[str] = []
        desk.queue.messages = Hanging(desk.queue.messages.store, desk.queue.messages.off_loop)
        await desk.queued("hello")
        with anyio.fail_after(60):
            while not states:  # noqa: ASYNC110 -- nothing tells
                await anyio.sleep(0.05)
        await anyio.sleep(1)
        assert await desk.states() == [("hello", "waiting")]

        bench.terminal.available = True
        await desk.until("delivered")
        assert desk.cli.pastes() == ["hello"]


async def test_a_message_whose_session_is_lost_before_the_submit_is_queued_still(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.cli.pane.on_input = lambda _: desk.cli.pane.vanish()
        await desk.queued("hello")
        with anyio.fail_after(60):
            await desk.session.wait_until(lambda: desk.session.over is not None, limit=timedelta(seconds=50))
        await desk.until("waiting")


async def test_what_cannot_be_kept_is_refused_and_what_is_sent_at_once_goes_on(open_desk: Desks) -> None:
    async with open_desk() as desk:
        desk.queue.messages.store.close()
        with pytest.raises(StoreUnusable):
            await desk.queued("kept")
        assert (await desk.queue.send(desk.session, "sent", mode=SendMode.NOW)).outcome == "delivered"
        assert desk.cli.submitted == ["sent"]


async def test_an_adapter_with_a_fault_stops_no_other_session(open_desk: Desks, bench: Bench) -> None:
    async with open_desk() as desk:
        guard = bench.adapter.guard
        bench.adapter.guard = fail  # type: ignore[method-assign,assignment]
        await desk.queued("hello")
        await anyio.sleep(60)
        assert await desk.states() == [("hello", "waiting")]

        bench.adapter.guard = guard  # type: ignore[method-assign]
        desk.queue.wake(desk.session)
        await desk.until("delivered")


def fail(_: str) -> str:
    raise LookupError("this adapter has a fault")


async def test_a_message_that_waits_keeps_its_session(open_desk: Desks) -> None:
    async with open_desk() as desk:
        assert desk.queue.reason(desk.session.id) is None
        desk.cli.tell(accepted="long work")
        await desk.queued("hello")
        assert desk.queue.reason(desk.session.id) is not None

        desk.cli.tell(ended=TurnOutcome.COMPLETED)
        await desk.until("delivered")
        await anyio.sleep(1)
        assert desk.queue.reason(desk.session.id) is None
