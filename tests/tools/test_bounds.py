"""Every result stays below what each CLI shows whole, whatever it is made of, and all of it can still be read."""

from __future__ import annotations

import base64
import json
import random
import stat
from typing import TYPE_CHECKING, Any

import pytest

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Happened, Intent, Outcome, WaitEnded, WhyEnded
from mcp_agent.calls.running import RunningCalls
from mcp_agent.processes import ProcessIdentity
from mcp_agent.state import StateDirectory
from mcp_agent.tools.bounds import SHOWN_BYTES, SHOWN_EVIDENCE, brief, json_bytes
from mcp_agent.tools.call_lookup import (
    GetToolCall,
    GetToolOutput,
    ListToolCalls,
    OneCall,
    OutputPage,
    SomeCalls,
)
from mcp_agent.tools.call_outputs import page
from mcp_agent.tools.news import MOST_AT_ONCE, with_late_outcomes
from mcp_agent.tools.results import KEPT_BYTES, RESULT_FILE, to_result
from mcp_agent.tools.tool import CallContext, ToolResult
from mcp_agent.tools.virtual import LISTED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tools.conftest import Shell

pytestmark = [pytest.mark.anyio, pytest.mark.contract("B5")]

SHOWN_CHARACTERS = 50_000
"""As JavaScript counts them: the one CLI counts tokens only of a longer result, and its limit is 25,000 tokens."""

SHOWN_WHOLE_BYTES = 40_000
"""The other one keeps 10,000 tokens of a result, and takes 4 bytes for one."""

DENSEST = 1.5
"""Bytes a token, of text as dense as random base64."""


def noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)


LONG: dict[str, str] = {
    "base64": base64.b64encode(noise(200_000)).decode(),
    "hexadecimal": noise(100_000).hex(),
    "json": json.dumps([{"id": number, "ok": number % 2 == 0} for number in range(10_000)]),
    "quotes": '"\\' * 100_000,
    "controls": "\x01\x1b" * 50_000,
    "chinese": "漢字仮名" * 30_000,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 8_000,
    "one long line": "é" * 200_000,
}


def shows_whole(result: ToolResult) -> bool:
    """Whether the result is below all caps, in both of the forms of which CLIs show one."""
    forms = [result.text, *([json.dumps(result.structured, ensure_ascii=False)] if result.structured else [])]
    sizes = [(len(form.encode()), len(form.encode("utf-16-le")) // 2) for form in forms]
    return all(
        size <= SHOWN_WHOLE_BYTES and characters <= SHOWN_CHARACTERS and size / DENSEST <= 25_000
        for size, characters in sizes
    )


def pages(directory: Path, stream: Any) -> str:
    """The whole output, read as a model reads it, each page checked."""
    text, offset = "", 0
    while True:
        found = page(directory, stream, offset=offset, limit=32 << 10)
        assert found is not None
        assert json_bytes(found["text"]) <= SHOWN_BYTES
        text += str(found["text"])
        if found["next_offset"] is None:
            return text
        assert isinstance(found["next_offset"], int)
        assert found["next_offset"] > offset
        offset = found["next_offset"]


@pytest.fixture
def context(tmp_path: Path) -> CallContext:
    return CallContext("call_now", "s-1", tmp_path / "calls" / "call_now", tmp_path, {}, None)


@pytest.mark.parametrize("kind", LONG)
async def test_a_commands_output_is_shown_below_every_cap_and_read_whole_by_pages(shell: Shell, kind: str) -> None:
    (shell.workspace / "output").write_text(LONG[kind])
    context = shell.context()
    tool = shell.tool
    result = await tool.run(context, tool.validate({"command": "cat output; cat output >&2"}))
    told = json.loads(result.text)

    assert shows_whole(result)
    assert told == result.structured
    assert told["call_id"] == context.call_id
    for name in ("stdout", "stderr"):
        head, tail = told[name].split(f"\n[... {told[f'{name}_omitted_bytes']} bytes omitted ...]\n")
        assert LONG[kind].startswith(head)
        assert LONG[kind].endswith(tail)
        assert len((head + tail).encode()) + told[f"{name}_omitted_bytes"] == len(LONG[kind].encode())
        assert stat.S_IMODE((context.call_directory / name).stat().st_mode) == 0o600
        assert pages(context.call_directory, name) == LONG[kind]


async def test_an_output_that_is_shown_whole_names_no_call(shell: Shell) -> None:
    assert "call_id" not in await shell.run("echo short")


@pytest.mark.parametrize("kind", LONG)
def test_a_custom_tools_text_is_shown_below_every_cap_and_read_whole_by_pages(context: CallContext, kind: str) -> None:
    result = to_result(LONG[kind], context, tool="t")

    assert shows_whole(result)
    assert result.text.endswith(f"\n[get_tool_output reads all of it, by call_id={context.call_id}]")
    assert pages(context.call_directory, "result") == LONG[kind]


def test_long_structured_content_beside_a_short_text_is_left_out_and_kept(context: CallContext) -> None:
    content = {"rows": [["漢", number] for number in range(10_000)]}
    result = to_result(ToolResult("10,000 rows", content), context, tool="t")

    size = (context.call_directory / RESULT_FILE).stat().st_size
    assert result.structured is None
    assert result.text.startswith(
        f"10,000 rows\n[... {size} bytes of structured content omitted ...]\n[get_tool_output"
    )
    assert json.loads(pages(context.call_directory, "result")) == content


@pytest.mark.parametrize("why", ["too long", "no room"])
def test_structured_content_that_cannot_be_kept_is_left_out_and_not_promised(context: CallContext, why: str) -> None:
    if why == "no room":
        context.call_directory.parent.write_text("a file where the directory should be")
    content = {"text": "x" * (KEPT_BYTES if why == "too long" else 100_000)}
    result = to_result(ToolResult("short", content), context, tool="t")

    assert result == ToolResult(f"short\n[... {json_bytes(content)} bytes of structured content omitted ...]")


@pytest.fixture
def calls(tmp_path: Path) -> Any:
    """A session that made as many calls as are listed, each with long arguments."""
    state = StateDirectory(tmp_path / "home")
    state.create()
    with Ledger.open(state.ledger) as ledger:
        for number in range(LISTED + 1):
            ledger.intent(f"call_{number}", intent({"text": "x" * (1_500 if number else 3_000)}))
        yield ledger, RunningCalls(), state


def intent(arguments: dict[str, object]) -> Intent:
    owner = ProcessIdentity(1, 2, "boot")
    return Intent("s-1", "publish", "custom", arguments, "d-1", None, 900.0, 5400.0, owner, False, False)


async def test_a_list_of_calls_shows_the_newest_that_fit_and_counts_the_others(
    calls: tuple[Ledger, RunningCalls, StateDirectory], context: CallContext
) -> None:
    result = await ListToolCalls(*calls).run(context, SomeCalls())
    told: Any = result.structured

    assert shows_whole(result)
    shown = [call["call_id"] for call in told["calls"]]
    assert shown == [f"call_{LISTED - number}" for number in range(len(shown))]
    assert told["omitted_calls"] == LISTED - len(shown)


async def test_long_arguments_of_a_call_that_is_looked_up_say_how_long_they_are(
    calls: tuple[Ledger, RunningCalls, StateDirectory], context: CallContext
) -> None:
    results = [await GetToolCall(*calls).run(context, OneCall(call_id=f"call_{number}")) for number in (1, 0)]
    told: list[Any] = [result.structured for result in results]

    assert told[0]["arguments"] == {"text": "x" * 1_500}
    assert told[1]["arguments"] == {"omitted_bytes": json_bytes({"text": "x" * 3_000})}


def test_of_many_late_outcomes_each_result_tells_some(
    calls: tuple[Ledger, RunningCalls, StateDirectory], context: CallContext
) -> None:
    ledger = calls[0]
    for number in range(MOST_AT_ONCE + 1):
        ledger.append(f"call_{number}", WaitEnded(WhyEnded.TOOL_WAIT, 900.0), Outcome(Happened.SUCCEEDED, late=True))
    longest = to_result(LONG["base64"], context, tool="t")
    told = [with_late_outcomes(longest, ledger, session_id="s-1") for _ in range(3)]

    assert all(map(shows_whole, told))
    assert [result.text.count("NOTE:") for result in told] == [MOST_AT_ONCE, 1, 0]


def test_the_newest_looks_at_a_call_are_enough() -> None:
    assert brief({"arguments": {}, "evidence": [1, 2, 3, 4, 5]})["evidence"] == [3, 4, 5]
    assert SHOWN_EVIDENCE == 3


async def test_a_page_of_what_json_must_escape_is_shorter(
    calls: tuple[Ledger, RunningCalls, StateDirectory], context: CallContext
) -> None:
    directory = calls[2].call("call_1")
    directory.mkdir(parents=True)
    (directory / "stdout").write_bytes(b"\x01" * 100_000)
    result = await GetToolOutput(*calls).run(context, OutputPage(call_id="call_1"))

    assert shows_whole(result)
    assert json.loads(result.text)["next_offset"] in range(6_000, SHOWN_BYTES // 6)
