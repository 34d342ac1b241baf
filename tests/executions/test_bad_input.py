"""What cannot be run is refused in one line, and nothing is started."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from mcp_agent.errors import RemoteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.executions.conftest import Household


@pytest.fixture
def household(open_household: Callable[..., Household]) -> Household:
    return open_household(depth=1, most_unfinished=2)


def refused(household: Household, instructions: str = "hello", **more: Any) -> RemoteError:
    with pytest.raises(RemoteError) as caught:
        household.start(instructions, **more)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.contract("E1", "E2", "E4")
def test_what_cannot_be_run_is_one_clear_line_and_starts_nothing(household: Household) -> None:
    assert refused(household, agent="nobody").kind == "UnknownAgent"
    assert refused(household, provider="nobody").kind == "UnknownAdapter"
    assert refused(household, provider="scripted", agent="helper").kind == "UsageError"
    assert refused(household, deadline_at=time.time() - 1).kind == "BadDeadline"
    assert refused(household, deadline_seconds=0).kind == "BadRequest"
    assert refused(household, deadline_seconds=1, deadline_at=time.time() + 9).kind == "UsageError"
    assert refused(household, in_directory="/nowhere").kind == "BadWorkingDirectory"
    assert refused(household, permission_mode="boundless").kind == "UnknownPermissionMode"
    assert refused(household, tools=["no_such_tool"]).kind == "UsageError"
    assert refused(household, name="mine").kind == "UsageError"
    assert refused(household, parent="s-0").kind == "UnknownSession"
    for instructions in (" \n", "a\0b", "x" * (1024 * 1024 + 1)):
        assert refused(household, instructions).kind == "UsageError"
    assert refused(household, "").kind == "BadRequest"
    for path in ("/executions/x-0", "/executions/x-0/logs"):
        with pytest.raises(RemoteError) as caught:
            household.server.client.get(path)
        assert caught.value.kind == "UnknownExecution"
    with pytest.raises(RemoteError) as caught:
        household.executions(parent="nobody")
    assert caught.value.kind == "UnknownSession"
    with pytest.raises(RemoteError):
        household.server.client.post("/executions/x-0/cancel")
    assert household.executions() == []


@pytest.mark.contract("E4")
def test_words_and_numbers_that_no_answer_could_repeat_are_refused_before_anything(household: Household) -> None:
    """As text: no careful client would write these."""
    common = f'"provider": "scripted", "instructions": "x", "working_directory": "{household.server.work}"'
    half = '"\\ud800"'
    token = household.server.state.read_owner_token()
    bad = [f'"deadline_at": {number}' for number in ("NaN", "Infinity", "-Infinity")]
    bad += [f'"{name}": {half}' for name in ("parent", "agent", "model", "permission_mode")]
    bad += [f'"{name}": [{half}]' for name in ("tools", "allow_tools")]
    for more in bad:
        content = f"{{{common}, {more}}}".encode()
        answer = household.server.ask("POST", "/executions", token=token, content=content)
        assert (answer.status_code, answer.json()["error"]["kind"]) == (422, "BadRequest"), more
    for epoch in (1e15, 1e308):
        assert refused(household, deadline_at=epoch).kind == "BadDeadline"
    assert household.executions() == []


def test_depth_and_queue_have_bounds_and_a_session_sees_only_its_own(household: Household) -> None:
    household.quirks["thinks_until"] = str(household.root / "never")
    parent = household.parent()
    bridge = household.server.bridge(parent)
    first = household.start("think")["execution_id"]
    household.until_submitted("think")
    child = household.server.bridge(household.get(first)["session_id"])
    assert "an execution of depth 2 was not started: 1 is the most" in child.call(
        "call_generic_agent", provider="scripted", instructions="deeper"
    )
    assert "this session has started no execution" in bridge.call("get_execution", execution_id=first)
    assert "this session has started no execution" in bridge.call("cancel_execution", execution_id=first)
    assert "deadline_seconds: " in bridge.call(
        "call_generic_agent", provider="scripted", instructions="x", deadline_seconds=-1
    )
    bridge.call("call_generic_agent", provider="scripted", instructions="second")
    assert "2 executions wait or run already" in bridge.call(
        "call_generic_agent", provider="scripted", instructions="third"
    )
    assert len(household.executions()) == 2
