"""What becomes of a call that nobody waits for any more is recorded, told once, and never lost."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcp_agent.calls.ledger_events import Happened, WhyEnded
from mcp_agent.tools.news import KEY
from mcp_agent.tools.tool import ToolResult

if TYPE_CHECKING:
    from tests.tools.dispatched.conftest import Desk, Silent

pytestmark = [pytest.mark.anyio, pytest.mark.contract("W5")]


async def give_up(desk: Desk, tool: Silent, *, after: float = 3600) -> None:
    """A call whose wait ends long before its work."""
    tool.seconds = 2000
    await desk.call("call_late", number=1)
    assert desk.ended("call_late") == (WhyEnded.TOOL_WAIT, Happened.UNKNOWN)
    await anyio.sleep(after)
    tool.seconds = 0


async def test_a_late_success_is_recorded_and_logged(
    desk: Desk, tool: Silent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await give_up(desk, tool)
    record = desk.record("call_late")
    assert (record.why, record.happened, record.late) == (WhyEnded.TOOL_WAIT, Happened.SUCCEEDED, True)
    assert record.detail == "done"
    assert "tool.late_outcome call_late silent of s-1: succeeded" in caplog.text


async def test_a_late_failure_is_recorded_and_not_raised(
    desk: Desk, tool: Silent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tool.result = ToolResult("no", happened=Happened.FAILED)
    await give_up(desk, tool)
    assert (desk.record("call_late").happened, desk.record("call_late").late) == (Happened.FAILED, True)
    assert "tool.late_outcome call_late silent of s-1: failed" in caplog.text


async def test_a_late_error_is_recorded_as_unknown_with_its_words(desk: Desk, tool: Silent) -> None:
    tool.raises = ConnectionError("reset by peer")
    await give_up(desk, tool)
    record = desk.record("call_late")
    assert (record.happened, record.late, record.is_unknown) == (Happened.UNKNOWN, True, True)
    assert [outcome.detail for outcome in record.outcomes] == ["waited for 900s", "ConnectionError: reset by peer"]


async def test_a_late_outcome_is_offered_once_on_the_sessions_next_result(desk: Desk, tool: Silent) -> None:
    await give_up(desk, tool)
    told = await desk.call("call_2", number=2)
    assert told.text == (
        "done\n\nNOTE: the earlier call call_late of silent, whose outcome was unknown, has ended: succeeded."
        " Its record: get_tool_call(call_id='call_late')."
    )
    assert desk.record("call_late").offered
    assert (await desk.call("call_3", number=3)).text == "done"


async def test_a_late_outcome_stands_in_structured_content_too(desk: Desk, tool: Silent) -> None:
    await give_up(desk, tool)
    tool.result = ToolResult("two words", {"words": 2})
    told = await desk.call("call_2", number=2)
    assert told.text.startswith("two words\n\nNOTE: ")
    assert told.structured is not None
    assert told.structured["words"] == 2
    earlier: Any = told.structured[KEY]
    assert [(call["call_id"], call["happened"]) for call in earlier] == [("call_late", "succeeded")]


async def test_a_result_that_is_json_stays_json(desk: Desk, tool: Silent) -> None:
    await give_up(desk, tool)
    tool.result = ToolResult('{"words": 2}', {"words": 2})
    told = await desk.call("call_2", number=2)
    assert json.loads(told.text) == told.structured
    assert told.structured is not None
    assert KEY in told.structured


async def test_a_tools_own_field_of_that_name_is_left_alone(desk: Desk, tool: Silent) -> None:
    await give_up(desk, tool)
    tool.result = ToolResult("none", {KEY: "mine"})
    told = await desk.call("call_2", number=2)
    assert told.structured == {KEY: "mine"}
    assert "NOTE: the earlier call call_late" in told.text


async def test_a_late_outcome_is_not_told_to_another_session(desk: Desk, tool: Silent) -> None:
    await give_up(desk, tool)
    assert (await desk.call("call_2", session="s-2")).text == "done"
    assert not desk.record("call_late").offered


async def test_what_was_looked_up_is_not_offered_again(desk: Desk, tool: Silent) -> None:
    await give_up(desk, tool)
    looked_up = await desk.ask("get_tool_call", call_id="call_late")
    assert json.loads(looked_up.text)["happened"] == "succeeded"
    assert (await desk.call("call_2", number=2)).text == "done"


async def test_the_end_of_a_cancelled_call_is_recorded_and_not_offered(desk: Desk, tool: Silent) -> None:
    tool.seconds = 3600
    with anyio.move_on_after(10):
        await desk.call("call_cancelled", number=1)
    tool.seconds = 0
    assert desk.ended("call_cancelled") == (WhyEnded.CANCEL, Happened.CANCELLED)
    assert not desk.record("call_cancelled").late
    assert (await desk.call("call_2", number=2)).text == "done"


async def test_a_call_that_a_person_cancels_after_its_wait_is_told_as_cancelled(desk: Desk, tool: Silent) -> None:
    await give_up(desk, tool, after=10)
    assert await desk.running.cancel("call_late")
    assert tool.events == ["cleaned up"]
    assert (desk.record("call_late").happened, desk.record("call_late").late) == (Happened.CANCELLED, True)
    assert "has ended: cancelled" in (await desk.call("call_2", number=2)).text
