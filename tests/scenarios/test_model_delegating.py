"""The scripted model hands a task on, and tells the execution's id from the call's result."""

import json

import pytest

from mcp_agent.scenarios.model.conversation import CallTool, Item, Text, ToolCall, ToolOffer, ToolResult
from mcp_agent.scenarios.model.delegating import delegate_once
from mcp_agent.scenarios.model.directives import Delegate, directive_of
from mcp_agent.scenarios.prompts import AGENT_TOOL, CANCELLED, NO_TOOL, delegate, run_silent_sleep

TASK = run_silent_sleep(1, "abc")
ASKED = Delegate("worker", TASK)
CALL = ToolCall("call_1", f"mcp__api-bridge__{AGENT_TOOL}", {})
OFFER = ToolOffer(CALL.name)


def test_a_task_that_holds_a_prompt_of_its_own_is_handed_on_and_not_done() -> None:
    assert directive_of(delegate("worker", TASK)) == ASKED


def test_the_call_carries_the_task_word_by_word() -> None:
    assert delegate_once(ASKED, [OFFER], []) == CallTool(OFFER, {"agent": "worker", "instructions": TASK})
    assert delegate_once(ASKED, [], []) == Text(NO_TOOL)


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        (json.dumps({"execution_id": "x-12", "state": "queued"}), "DELEGATED x-12"),
        (json.dumps(json.dumps({"execution_id": "x-12"})), "DELEGATED x-12"),
        ("ERROR: unknown agent", "FAILED: ERROR: unknown agent"),
    ],
)
def test_the_answer_is_computed_from_the_result(result: str, answer: str) -> None:
    items: list[Item] = [CALL, ToolResult("call_1", result)]
    assert delegate_once(ASKED, [OFFER], items) == Text(answer)


def test_a_call_without_a_result_was_cancelled() -> None:
    assert delegate_once(ASKED, [OFFER], [CALL]) == Text(CANCELLED)
