"""A prompt that meets an idle close: it waits for its end and goes to the session after all, unless it cannot go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest

from mcp_agent.adapter import ModelEndpoint
from mcp_agent.errors import SessionEnded
from mcp_agent.sessions.input.sending import SendMode, SendOutcome
from tests.sessions.managed.test_resuming import SOON, Place, close_idle

if TYPE_CHECKING:
    from mcp_agent.sessions.manager import SessionManager
    from tests.sessions.managed.conftest import House

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S6", "S7")]


@pytest.fixture
def place(house: House) -> Place:
    place = Place(house)
    house.bench.adapter = place.adapter
    return place


class SlowClose:
    """The calls of a session that is being closed, which take their time."""

    def __init__(self, manager: SessionManager) -> None:
        self.began, self.go_on = anyio.Event(), anyio.Event()
        manager.cancel_calls = self._cancel

    async def _cancel(self, _: str) -> int:
        self.began.set()
        await self.go_on.wait()
        return 0


@pytest.mark.parametrize("mode", [SendMode.NOW, SendMode.TURN, SendMode.QUEUE])
async def test_prompts_that_come_during_an_idle_close_are_delivered_after_it(place: Place, mode: SendMode) -> None:
    outcomes = []

    async def send(text: str) -> None:
        outcomes.append((await manager.send(session.id, text, mode=mode)).outcome)

    async with place.server() as manager:
        session, slow = await manager.start(place.house.options()), SlowClose(manager)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(close_idle, manager, session)
                await slow.began.wait()
                try:
                    group.start_soon(send, "one")
                    await anyio.wait_all_tasks_blocked()
                    assert (outcomes, len(place.clis)) == ([], 1)
                finally:
                    slow.go_on.set()
            assert outcomes == [SendOutcome.WAITING if mode is SendMode.QUEUE else SendOutcome.DELIVERED]
            await session.wait_until(lambda: session.turns.current is not None, limit=SOON)
        assert place.clis[-1].submitted == ["one"]
        assert len(place.clis) == 2


async def test_a_prompt_that_comes_during_a_persons_stop_is_refused_at_once(place: Place) -> None:
    async with place.server() as manager:
        session, slow = await manager.start(place.house.options()), SlowClose(manager)
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(manager.stop, session.id)
                await slow.began.wait()
                with pytest.raises(SessionEnded, match="stopped"):
                    await manager.send(session.id, "one")
                slow.go_on.set()
        assert len(place.clis) == 1


@pytest.mark.parametrize("message_id", [None, "m-0123456789"])
async def test_a_prompt_that_waited_for_its_turn_when_an_idle_close_began_is_delivered(
    place: Place, message_id: str | None
) -> None:
    outcomes = []

    async def send() -> None:
        outcomes.append((await manager.send(session.id, "one", message_id=message_id)).outcome)

    async with place.server() as manager:
        session = await manager.start(place.house.options())
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group, session.send_lock:
                group.start_soon(send)
                while not session.send_lock.statistics().tasks_waiting:
                    await anyio.lowlevel.checkpoint()
                await close_idle(manager, session)
        assert outcomes == [SendOutcome.DELIVERED]
        assert place.clis[-1].submitted == ["one"]


async def test_a_prompt_that_waited_when_a_persons_stop_began_is_refused(place: Place) -> None:
    async def send() -> None:
        with pytest.raises(SessionEnded):
            await manager.send(session.id, "one")

    async with place.server() as manager:
        session = await manager.start(place.house.options())
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group, session.send_lock:
                group.start_soon(send)
                while not session.send_lock.statistics().tasks_waiting:
                    await anyio.lowlevel.checkpoint()
                await manager.stop(session.id)
        assert len(place.clis) == 1


TOKEN: dict[str, Any] = {"environment": {"TOKEN": "t"}, "named_variables": frozenset({"TOKEN"})}
ENDPOINT: dict[str, Any] = {"endpoint": ModelEndpoint("http://127.0.0.1:1", "e")}
OWN: dict[str, Any] = {"environment": {"PLAIN_TOKEN": "t"}}


@pytest.mark.parametrize(
    ("options", "why", "command"),
    [
        (TOKEN, "not kept after its end: the value of TOKEN;", "session resume {} --env TOKEN`"),
        (ENDPOINT, "not kept after its end: the key of its model", "session resume {} --model-key-variable NAME`"),
        (TOKEN | ENDPOINT, "TOKEN and the key", "session resume {} --env TOKEN --model-key-variable NAME`"),
        (OWN, "not kept after its end: what its CLI read of PLAIN_API_KEY", "session resume {}`"),
    ],
)
async def test_a_session_that_needs_what_is_not_kept_says_why_and_with_which_options_it_is_resumed(
    place: Place, options: dict[str, Any], why: str, command: str
) -> None:
    async with place.server() as manager:
        session = await manager.start(place.house.options(**options))
        await close_idle(manager, session)
        with pytest.raises(SessionEnded) as refused:
            await manager.send(session.id, "two")

        assert why in str(refused.value)
        assert command.format(session.id) in str(refused.value)
        assert len(place.clis) == 1
