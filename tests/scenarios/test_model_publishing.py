"""The scripted model publishes once: it repeats blindly, and then believes the record."""

import json

import pytest

from mcp_agent.calls.outcomes import StoppedWaiting
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model.brain import answer
from mcp_agent.scenarios.model.conversation import (
    CallTool,
    Conversation,
    Item,
    Reply,
    Role,
    Said,
    Text,
    ToolCall,
    ToolOffer,
    ToolResult,
)

PUBLISH = ToolOffer("mcp__api-bridge__publish")
WAIT = ToolOffer("mcp__api-bridge__wait_tool_call")
TEXT = "a text: with `ticks`"
ASKED = Said(Role.USER, prompts.publish_once("publish", TEXT))
UNKNOWN = StoppedWaiting(
    call_id="call_1", tool="publish", session_id="s-1", layer="tool_wait", waited_seconds=2, limit_seconds=2
)
GATED = "This call was NOT run. An identical call of publish, call_1, was started. See get_tool_call(call_id='call_1')."
BOTH_FORMS = pytest.mark.parametrize("as_json", [True, False])


def reply(*items: Item, tools: tuple[ToolOffer, ...] = (PUBLISH, WAIT)) -> Reply:
    return answer(Conversation((ASKED, *items), tools))


def published(result: str, *, as_call: str = "c1") -> tuple[Item, Item]:
    return ToolCall(as_call, PUBLISH.name, {"text": TEXT}), ToolResult(as_call, result)


def waited(happened: str | None) -> tuple[Item, Item]:
    record = json.dumps({"call_id": "call_1", "happened": happened})
    return ToolCall("c3", WAIT.name, {"call_id": "call_1"}), ToolResult("c3", record)


def unknown(*, as_json: bool) -> str:
    return json.dumps(UNKNOWN.structured()) if as_json else UNKNOWN.text()


def gated(*, as_json: bool) -> str:
    return json.dumps({"gated": True, "call_id": "call_1", "message": GATED}) if as_json else GATED


def test_it_begins_with_the_tool() -> None:
    assert reply() == CallTool(PUBLISH, {"text": TEXT})


@BOTH_FORMS
def test_an_unknown_outcome_is_followed_by_the_identical_call(*, as_json: bool) -> None:
    assert reply(*published(unknown(as_json=as_json))) == CallTool(PUBLISH, {"text": TEXT})


@BOTH_FORMS
def test_a_repetition_that_was_not_run_is_followed_by_a_wait_for_the_first(*, as_json: bool) -> None:
    second = published(gated(as_json=as_json), as_call="c2")

    assert reply(*published(unknown(as_json=as_json)), *second) == CallTool(
        WAIT, {"call_id": "call_1", "timeout_seconds": 60}
    )


@pytest.mark.parametrize(
    ("happened", "said"),
    [("succeeded", "PUBLISHED succeeded"), ("failed", "PUBLISHED failed"), (None, "PUBLISHED unknown")],
)
def test_the_answer_is_what_the_record_says(happened: str | None, said: str) -> None:
    earlier = [*published(unknown(as_json=True)), *published(gated(as_json=True), as_call="c2")]

    assert reply(*earlier, *waited(happened)) == Text(said)


def test_a_repetition_that_was_run_is_owned_up_to() -> None:
    second = published("published", as_call="c2")

    assert reply(*published(unknown(as_json=True)), *second) == Text(prompts.PUBLISHED_TWICE)


def test_an_answer_at_once_needs_no_repetition() -> None:
    assert reply(*published("published")) == Text("PUBLISHED published")


def test_a_cancelled_call_is_not_repeated() -> None:
    call, _ = published("")

    assert reply(call) == Text(prompts.CANCELLED)


def test_without_the_tool_it_says_so() -> None:
    assert reply(tools=(WAIT,)) == Text(prompts.NO_TOOL)
