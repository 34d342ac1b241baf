"""A session asks about its own calls: it sees those and no others, and nothing is run by asking."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from mcp_agent.calls.ledger_events import Happened
from mcp_agent.errors import BadArguments
from mcp_agent.timeouts import ClientCeiling
from mcp_agent.tools.tool import ToolResult

if TYPE_CHECKING:
    from tests.tools.dispatched.conftest import Desk, Silent

pytestmark = [pytest.mark.anyio, pytest.mark.contract("W10")]


def facts(result: ToolResult) -> dict[str, Any]:
    assert result.structured == json.loads(result.text)
    return dict(result.structured or {})


async def test_a_call_is_looked_up_with_all_that_is_known(desk: Desk) -> None:
    await desk.call("call_1", title="a")
    known = facts(await desk.ask("get_tool_call", call_id="call_1"))
    assert (known["call_id"], known["tool"], known["arguments"]) == ("call_1", "silent", {"title": "a"})
    assert (known["why_ended"], known["happened"], known["detail"]) == ("result", "succeeded", "done")


@pytest.mark.parametrize("tool_name", ["get_tool_call", "wait_tool_call", "get_tool_output"])
@pytest.mark.parametrize("call_id", ["call_of_another", "call_of_nobody", "../call_1", ""])
async def test_a_call_of_another_session_is_as_unknown_as_none(desk: Desk, tool_name: str, call_id: str) -> None:
    await desk.call("call_of_another", "s-2")
    with pytest.raises(BadArguments, match="call_id: "):
        await desk.ask(tool_name, call_id=call_id)


async def test_the_list_is_the_sessions_own_newest_first_without_itself(desk: Desk) -> None:
    for number in range(3):
        await desk.call(f"call_{number}", number=number)
    await desk.call("call_of_another", "s-2")
    listed = facts(await desk.ask("list_tool_calls"))["calls"]
    assert [call["call_id"] for call in listed] == ["call_2", "call_1", "call_0"]
    assert {"age_seconds", "last_progress_at", "next_limit"} <= listed[0].keys()


async def test_the_list_of_unknown_calls_has_no_others(desk: Desk, tool: Silent) -> None:
    await desk.call("call_known", number=1)
    tool.seconds = 3600
    await desk.call("call_unknown", number=2)
    listed = facts(await desk.ask("list_tool_calls", unknown_only=True))["calls"]
    assert [(call["call_id"], call["happened"]) for call in listed] == [("call_unknown", "unknown")]


async def test_a_wait_ends_with_the_late_outcome(desk: Desk, tool: Silent) -> None:
    tool.seconds = 905
    await desk.call("call_1")
    before = anyio.current_time()
    known = facts(await desk.ask("wait_tool_call", call_id="call_1", timeout_seconds=3600))
    assert (known["happened"], known["late"]) == ("succeeded", True)
    assert 4 < anyio.current_time() - before < 6
    assert desk.record("call_1").offered


async def test_a_wait_that_takes_too_long_says_what_is_known(desk: Desk, tool: Silent) -> None:
    tool.seconds = 3600
    await desk.call("call_1")
    known = facts(await desk.ask("wait_tool_call", call_id="call_1", timeout_seconds=5))
    assert (known["happened"], known["unknown"]) == ("unknown", True)


async def test_a_wait_for_what_can_end_no_more_returns_at_once(desk: Desk, tool: Silent) -> None:
    tool.raises = ConnectionError("reset")
    await desk.call("call_1")
    before = anyio.current_time()
    known = facts(await desk.ask("wait_tool_call", call_id="call_1", timeout_seconds=3600))
    assert known["happened"] == "unknown"
    assert anyio.current_time() - before < 1


@pytest.mark.contract("T5")
async def test_a_wait_answers_before_its_own_client_would_give_up(desk: Desk, tool: Silent) -> None:
    tool.seconds = 3600
    await desk.call("call_1")
    ceiling = ClientCeiling(timedelta(seconds=12), "unknown")
    desk.caller = replace(desk.caller, client_ceiling=ceiling, cli_has_limit=False)
    known = facts(await desk.ask("wait_tool_call", call_id="call_1", timeout_seconds=3600))
    assert known["call_id"] == "call_1"
    assert desk.record("call_ask").happened is Happened.SUCCEEDED


async def test_the_whole_of_an_output_is_read_by_pages_that_cut_no_character(desk: Desk, tool: Silent) -> None:
    whole = "äöü🙂x" * 20_000
    await desk.call("call_1")
    directory = desk.dispatcher.state.call("call_1")
    directory.mkdir(parents=True)
    (directory / "result").write_text(whole)
    read, pages = "", 0
    offset: int | None = 0
    while offset is not None:
        page = facts(await desk.ask("get_tool_output", f"ask_{pages}", call_id="call_1", offset=offset, limit=1001))
        read, offset, pages = read + page["text"], page["next_offset"], pages + 1
    assert read == whole
    assert page["total_bytes"] == len(whole.encode())


async def test_an_output_that_a_call_does_not_have_is_refused(desk: Desk) -> None:
    await desk.call("call_1")
    for stream in ({}, {"stream": "stderr"}):
        with pytest.raises(BadArguments, match="call call_1 has no such output"):
            await desk.ask("get_tool_output", f"ask_{len(stream)}", call_id="call_1", **stream)


@pytest.mark.parametrize("offset", [10, 10_000])
async def test_an_offset_beyond_the_end_reads_nothing(desk: Desk, offset: int) -> None:
    await desk.call("call_1")
    directory = desk.dispatcher.state.call("call_1")
    directory.mkdir(parents=True)
    (directory / "stdout").write_text("ten bytes.")
    page = facts(await desk.ask("get_tool_output", call_id="call_1", offset=offset))
    assert (page["text"], page["next_offset"]) == ("", None)
