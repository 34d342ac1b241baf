"""A patient model asks what became of a call of unknown outcome until it knows, then reads what was printed."""

import json
from collections.abc import Mapping

import pytest

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model.brain import answer
from mcp_agent.scenarios.model.conversation import (
    CallTool,
    Conversation,
    Item,
    Role,
    Said,
    Text,
    ToolCall,
    ToolOffer,
    ToolResult,
)

PREFIX = "mcp__api-bridge__"
TOOLS = tuple(ToolOffer(f"{PREFIX}{name}") for name in (prompts.SHELL_TOOL, prompts.WAIT_TOOL, prompts.OUTPUT_TOOL))
UNKNOWN = json.dumps({"outcome": "unknown", "call_id": "call_7", "timed_out": True})
RUNS, ENDED = json.dumps({"call_id": "call_7", "happened": "unknown"}), json.dumps({"happened": "succeeded"})
PAGE = json.dumps({"stream": "stdout", "text": "SLEPT_k7\n"})

pytestmark = pytest.mark.contract("T5", "X2")


def asked(*steps: tuple[str, str], patiently: bool = True) -> Text | CallTool:
    """What the model does after these calls, each with what came back of it."""
    items: list[Item] = [Said(Role.USER, prompts.run_silent_sleep(90, "k7", patiently=patiently))]
    for number, (tool, result) in enumerate(steps):
        items += [ToolCall(f"c{number}", f"{PREFIX}{tool}", {}), ToolResult(f"c{number}", result)]
    return answer(Conversation(tuple(items), TOOLS))


def called(tool: str, arguments: Mapping[str, object]) -> CallTool:
    return CallTool(ToolOffer(f"{PREFIX}{tool}"), arguments)


WAITS = called(prompts.WAIT_TOOL, {"call_id": "call_7", "timeout_seconds": 600})
BEGUN = (prompts.SHELL_TOOL, UNKNOWN)


def test_an_unknown_outcome_is_waited_for_as_long_as_it_takes() -> None:
    assert asked(BEGUN) == WAITS
    assert asked(BEGUN, (prompts.WAIT_TOOL, RUNS)) == WAITS
    assert asked(BEGUN, *[(prompts.WAIT_TOOL, UNKNOWN)] * 5) == WAITS


def test_what_a_call_printed_is_read_once_it_has_ended() -> None:
    ended = (BEGUN, (prompts.WAIT_TOOL, ENDED))

    assert asked(*ended) == called(prompts.OUTPUT_TOOL, {"call_id": "call_7", "stream": "stdout"})
    assert asked(*ended, (prompts.OUTPUT_TOOL, PAGE)) == Text("DONE_SLEPT_k7")


def test_a_result_that_came_at_once_needs_no_patience() -> None:
    report = json.dumps({"ended": "exited", "stdout": "SLEPT_k7"})

    assert asked((prompts.SHELL_TOOL, report)) == Text("DONE_SLEPT_k7")


def test_nobody_is_patient_unasked() -> None:
    assert asked(BEGUN, patiently=False) == Text(f"{prompts.UNKNOWN} call_7")


def test_live_input_of_its_own_turn_is_repeated_and_followed() -> None:
    said = answer(Conversation((Said(Role.USER, prompts.live_input("x")),), TOOLS))

    assert isinstance(said, Text)
    assert said.text.endswith("LIVE_x")
