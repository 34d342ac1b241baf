"""One call through the dispatcher, in virtual time: what its caller reads, and what its record says."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.calls.ledger_events import Happened, Slow, WhyEnded
from mcp_agent.calls.views import call_facts
from mcp_agent.errors import BadArguments, DuplicateCall, UnknownCall, UnknownTool
from mcp_agent.tools.dispatch import Request
from mcp_agent.tools.tool import ToolResult

if TYPE_CHECKING:
    from tests.tools.dispatched.conftest import Desk, Silent

pytestmark = pytest.mark.anyio


async def test_an_answer_is_passed_on_and_recorded(desk: Desk) -> None:
    assert await desk.call(word="x") == ToolResult("done")
    assert desk.ended() == (WhyEnded.RESULT, Happened.SUCCEEDED)
    assert desk.record().arguments == {"word": "x"}


@pytest.mark.contract("C4", "T7", "T9")
@pytest.mark.parametrize("environ", [{"TOOL_EXECUTION_TIMEOUT": "2m"}])
async def test_a_silent_tool_that_overruns_the_limit_of_its_work_is_cancelled_and_cleaned_up(
    desk: Desk, tool: Silent, caplog: pytest.LogCaptureFixture
) -> None:
    tool.seconds = 3600
    result = await desk.call()
    assert tool.events == ["cleaned up"]
    first, _, action = result.text.partition("\n")
    expected = (
        "CANCELED: layer=server_tool owner=server tool=silent session=s-1 timeout=120s elapsed=121s call_id=call_1"
    )
    assert first == expected
    assert "check for its effect" in action
    assert result.structured is not None
    assert (result.structured["layer"], result.structured["limit_seconds"]) == ("server_tool", 120)
    assert desk.ended() == (WhyEnded.SERVER_TOOL, Happened.CANCELLED)
    assert expected in caplog.text


@pytest.mark.contract("W2", "W3", "T9")
async def test_a_wait_that_ends_says_unknown_and_the_work_goes_on(
    desk: Desk, tool: Silent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tool.seconds = 3600
    result = await desk.call()
    assert result.text.startswith(
        "TIMEOUT: layer=tool_wait owner=watchdog tool=silent session=s-1 timeout=900s elapsed=900s call_id=call_1\n"
    )
    structured = dict(result.structured or {})
    assert structured.pop("message") == result.text
    assert structured == {
        "timed_out": True,
        "outcome": "unknown",
        "cancelled": False,
        "call_id": "call_1",
        "tool": "silent",
        "layer": "tool_wait",
        "waited_seconds": 900,
        "limit_seconds": 900,
    }
    assert desk.ended() == (WhyEnded.TOOL_WAIT, Happened.UNKNOWN)
    await anyio.sleep(3600)
    assert tool.events == ["worked"]


@pytest.mark.contract("W1", "T9")
async def test_a_slow_call_is_noted_once_and_waited_for(
    desk: Desk, tool: Silent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    tool.seconds = 120
    assert (await desk.call()).text == "done"
    assert caplog.text.count("tool.slow call_1 silent of s-1: 60 s") == 1
    noted = [fact.event for fact in desk.ledger.events("call_1") if isinstance(fact.event, Slow)]
    assert [(round(slow.elapsed_seconds), slow.limit_seconds) for slow in noted] == [(60, 900)]


@pytest.mark.contract("W1")
async def test_a_waiting_call_is_shown_with_its_age_and_the_limit_that_fires_next(desk: Desk, tool: Silent) -> None:
    tool.seconds = 3600
    async with anyio.create_task_group() as group:
        group.start_soon(desk.call)
        await tool.began.wait()
        call = desk.record()
        group.cancel_scope.cancel()
    for age, limit in ((10, {"layer": "tool_wait", "in_seconds": 890}), (1000, {"layer": "server_tool"})):
        shown = call_facts(call, now=call.started_at + age)
        assert (shown["age_seconds"], shown["last_progress_at"], shown["happened"]) == (age, None, None)
        assert limit.items() <= shown["next_limit"].items()  # type: ignore[attr-defined]
    assert call_facts(call, last_output_at=12.5)["last_progress_at"] == 12.5


@pytest.mark.contract("C1", "T9")
async def test_a_caller_that_leaves_cancels_the_work_and_the_record_says_so(
    desk: Desk, tool: Silent, caplog: pytest.LogCaptureFixture
) -> None:
    tool.seconds = 3600
    async with anyio.create_task_group() as group:
        group.start_soon(desk.call)
        await tool.began.wait()
        await anyio.sleep(5)
        group.cancel_scope.cancel()
    assert tool.events == ["cleaned up"]
    assert desk.ended() == (WhyEnded.CANCEL, Happened.CANCELLED)
    assert "layer=cancel owner=caller tool=silent session=s-1 timeout=none elapsed=6s call_id=call_1" in caplog.text


@pytest.mark.contract("C6")
async def test_a_cancel_in_the_same_instant_as_a_result_is_why_and_the_result_is_what_happened(
    desk: Desk, tool: Silent
) -> None:
    with anyio.CancelScope() as scope:
        tool.at_the_end = scope.cancel
        await desk.call()
    assert scope.cancelled_caught
    assert tool.events == ["worked"]
    assert desk.ended() == (WhyEnded.CANCEL, Happened.SUCCEEDED)


async def test_a_clean_up_that_takes_too_long_leaves_an_unknown_outcome(desk: Desk, tool: Silent) -> None:
    tool.seconds, tool.cleanup_seconds = 3600, 600
    with anyio.move_on_after(10):
        await desk.call()
    assert desk.ended() == (WhyEnded.CANCEL, Happened.UNKNOWN)
    await anyio.sleep(600)
    assert desk.ended() == (WhyEnded.CANCEL, Happened.CANCELLED)


@pytest.mark.contract("W4")
async def test_a_call_of_a_caller_that_is_cancelled_already_never_starts(desk: Desk, tool: Silent) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await desk.call()
    assert not tool.began.is_set()
    with pytest.raises(UnknownCall):
        desk.record()


@pytest.mark.contract("C5", "T9")
async def test_stopping_a_session_cancels_its_calls_and_no_others(desk: Desk, tool: Silent) -> None:
    tool.seconds = 3600
    texts: list[str] = []

    async def one(call_id: str, session: str) -> None:
        texts.append((await desk.call(call_id, session)).text)

    async with anyio.create_task_group() as group:
        for call_id, session in (("call_1", "s-1"), ("call_2", "s-1"), ("call_3", "s-2")):
            group.start_soon(one, call_id, session)
        await anyio.sleep(60)
        assert await desk.running.cancel_session("s-1") == 2
        assert tool.events == ["cleaned up"] * 2
        await anyio.sleep(1)
        assert sorted(text.partition("\n")[0] for text in texts) == [
            "CANCELED: layer=cancel owner=session tool=silent session=s-1 timeout=none elapsed=61s"
            f" call_id=call_{number}"
            for number in (1, 2)
        ]
        assert desk.ended("call_1") == (WhyEnded.CANCEL, Happened.CANCELLED)
        assert desk.record("call_3").ended_at is None
        group.cancel_scope.cancel()


@pytest.mark.contract("C5")
async def test_stopping_a_session_ends_work_that_nobody_waits_for_any_more(desk: Desk, tool: Silent) -> None:
    tool.seconds = 3600
    await desk.call()
    assert desk.ended() == (WhyEnded.TOOL_WAIT, Happened.UNKNOWN)
    assert await desk.running.cancel_session("s-1") == 1
    assert tool.events == ["cleaned up"]
    assert await desk.running.cancel_session("s-1") == 0


async def test_stopping_a_session_does_not_wait_for_ever_for_work_that_will_not_end(desk: Desk, tool: Silent) -> None:
    tool.seconds, tool.cleanup_seconds = 3600, 7200
    await desk.call()
    with anyio.fail_after(60):
        assert await desk.running.cancel_session("s-1") == 1


@pytest.mark.contract("T9")
@pytest.mark.parametrize("error", [ConnectionError("reset by peer"), TimeoutError(), SystemExit(3)])
async def test_what_raises_is_told_with_its_place_and_leaves_an_unknown_outcome(
    desk: Desk, tool: Silent, error: BaseException
) -> None:
    tool.raises = error
    text = (await desk.call()).text
    assert text.startswith(
        "ERROR: layer=server_tool owner=server tool=silent session=s-1 call_id=call_1 outcome=unknown:"
        f" {type(error).__name__}: {error}\n"
    )
    assert "check for its effect" in text
    assert desk.ended() == (WhyEnded.RESULT, Happened.UNKNOWN)


async def test_a_tool_that_refuses_started_nothing(desk: Desk, tool: Silent) -> None:
    tool.raises = BadArguments("silent", ["no such article"])
    with pytest.raises(BadArguments):
        await desk.call()
    assert desk.ended() == (WhyEnded.RESULT, Happened.NOT_STARTED)


@pytest.mark.contract("W7")
@pytest.mark.parametrize("why", [WhyEnded.RESULT, WhyEnded.SERVER_TOOL])
@pytest.mark.parametrize("happened", list(Happened))
async def test_an_answer_is_recorded_as_what_it_says_of_itself(
    desk: Desk, tool: Silent, why: WhyEnded, happened: Happened
) -> None:
    tool.result = ToolResult("{}", happened=happened, why=why)
    await desk.call()
    assert desk.ended() == (why, happened)


async def test_bad_arguments_and_unknown_tools_leave_no_record(desk: Desk) -> None:
    with pytest.raises(BadArguments, match=r"bad: is bad; worse: is worse; the call was not started"):
        await desk.call(bad=1)
    requests = Request("call_1", "virtual", "silent", {}), Request("call_1", "custom", "silence", {})
    for request in requests:
        with pytest.raises(UnknownTool, match=r"this session has: get_tool_call, .*, silent"):
            await desk.dispatcher.call(desk.caller, request)
    assert desk.ledger.list() == ()


async def test_a_call_id_is_used_once(desk: Desk, tool: Silent) -> None:
    await desk.call()
    with pytest.raises(DuplicateCall, match="call_1 was used before"):
        await desk.call()
    assert tool.events == ["worked"]
