"""Interrupts, stops and a server that ends: what is refused, what is cancelled, and what goes on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.calls.ledger_events import Happened, WhyEnded
from mcp_agent.errors import CallNotTaken, ServerStopping, TurnAborted
from tests.tools.dispatched.conftest import Silent

if TYPE_CHECKING:
    from mcp_agent.tools.tool import CallContext, ToolResult
    from tests.tools.dispatched.conftest import Desk

pytestmark = pytest.mark.anyio


@dataclass
class Lasting(Silent):
    """A tool whose work outlives its server."""

    def announce(self, context: CallContext) -> None:
        self.events.append("announced")

    def withdraw(self, context: CallContext) -> None:
        self.events.append("withdrawn")

    async def recover(self, context: CallContext) -> ToolResult | None:
        return None


@pytest.mark.contract("W4")
async def test_a_call_of_an_interrupted_turn_is_refused_and_leaves_no_record(desk: Desk, tool: Silent) -> None:
    desk.caller = replace(desk.caller, turn_aborted=True)
    with pytest.raises(TurnAborted, match="silent was not started: the turn of session s-1 was interrupted"):
        await desk.call()
    assert not tool.began.is_set()
    assert desk.ledger.list() == ()


@pytest.mark.contract("W4")
async def test_an_abort_in_the_instant_of_the_deadline_wins(desk: Desk, tool: Silent) -> None:
    tool.seconds = 3600
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(desk.call)
            await tool.began.wait()
            scope.deadline = anyio.current_time() + 900
    assert scope.cancelled_caught
    assert desk.ended() == (WhyEnded.CANCEL, Happened.CANCELLED)
    assert tool.events == ["cleaned up"]


@pytest.mark.contract("C5", "T9")
@pytest.mark.parametrize(("who", "words"), [("owner", "a person cancelled it"), ("server", "its server stops")])
async def test_a_cancelled_caller_reads_who_cancelled(desk: Desk, tool: Silent, who: str, words: str) -> None:
    tool.seconds = 3600
    texts: list[str] = []

    async def call() -> None:
        texts.append((await desk.call()).text)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await tool.began.wait()
        await (desk.running.cancel("call_1") if who == "owner" else desk.running.cancel_all())
    assert texts[0].startswith(f"CANCELED: layer=cancel owner={who} tool=silent session=s-1")
    assert words in texts[0]
    assert not desk.running.runs("call_1")


async def test_a_call_that_does_not_run_is_not_cancelled(desk: Desk) -> None:
    await desk.call()
    assert not await desk.running.cancel("call_1")
    assert await desk.running.cancel_all() == 0


@pytest.mark.contract("S9")
async def test_a_server_that_stops_takes_no_more_calls(desk: Desk, tool: Silent) -> None:
    desk.stopping = True
    with pytest.raises(CallNotTaken, match="outcome=not_started"):
        await desk.call()
    assert not tool.began.is_set()


async def stop_during(desk: Desk, tool: Silent) -> list[object]:
    """What the caller of a running call gets when the server stops."""
    tool.seconds = 3600
    got: list[object] = []

    async def call() -> None:
        try:
            got.append((await desk.call()).text)
        except ServerStopping as error:
            got.append(error)

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await tool.began.wait()
        desk.stopping = True
        await desk.running.cancel_all()
    return got


@pytest.mark.contract("S9", "W6")
async def test_work_that_outlives_the_server_is_left_to_the_next_one(desk: Desk) -> None:
    tool = Lasting()
    desk.dispatcher.tools = {"silent": tool}
    (error,) = await stop_during(desk, tool)
    assert isinstance(error, ServerStopping)
    assert "outcome=unknown call_id=call_1" in str(error)
    assert desk.record().is_open
    assert desk.record().outcomes == ()


@pytest.mark.contract("S9", "W7")
async def test_work_that_ends_with_the_server_is_recorded_as_cancelled(desk: Desk, tool: Silent) -> None:
    (text,) = await stop_during(desk, tool)
    assert str(text).startswith("CANCELED: layer=cancel owner=server")
    assert desk.ended() == (WhyEnded.CANCEL, Happened.CANCELLED)
