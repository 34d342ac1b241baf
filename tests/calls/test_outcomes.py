"""The texts that a model reads when a wait or some work was ended."""

import json
import re

import pytest

from mcp_agent.calls.outcomes import Cancelled, StoppedWaiting, seconds_text

STOPPED = StoppedWaiting(
    call_id="call_1",
    tool="publish",
    session_id="s-1",
    layer="tool_wait",
    waited_seconds=900.0004,
    limit_seconds=900.0,
    work_limit_seconds=5400.0,
)
CANCELLED = Cancelled(
    call_id="call_1",
    tool="publish",
    session_id="s-1",
    layer="server_tool",
    owner="server",
    elapsed_seconds=601.5,
    limit_seconds=600.0,
)


@pytest.mark.contract("W3")
def test_a_wait_that_ended_is_a_normal_result_with_exactly_these_facts() -> None:
    facts = STOPPED.structured()
    message = facts.pop("message")
    assert facts == {
        "timed_out": True,
        "outcome": "unknown",
        "cancelled": False,
        "call_id": "call_1",
        "tool": "publish",
        "layer": "tool_wait",
        "waited_seconds": 900.0,
        "limit_seconds": 900.0,
    }
    assert message == STOPPED.text()
    assert json.loads(json.dumps(STOPPED.structured())) == STOPPED.structured()


@pytest.mark.contract("W3")
@pytest.mark.parametrize(
    "said",
    ["stopped waiting", "NOT cancelled", "may still succeed", "get_tool_call(call_id='call_1')", "unknown", "owner"],
)
def test_the_message_says_what_is_known_and_what_to_do(said: str) -> None:
    assert said in STOPPED.message
    assert STOPPED.message in STOPPED.text()


@pytest.mark.contract("W3")
def test_no_word_says_that_the_operation_failed() -> None:
    assert not re.search(r"fail|error|retry|went wrong", STOPPED.text(), re.IGNORECASE)


@pytest.mark.contract("T8")
def test_the_message_says_when_the_work_will_be_stopped_if_it_will() -> None:
    unlimited = StoppedWaiting("call_1", "publish", "s-1", "tool_wait", 900.0, 900.0)
    assert "5400s after its start" in STOPPED.message
    assert "after its start" not in unlimited.message


@pytest.mark.contract("T9")
def test_the_first_line_carries_every_fact_of_a_timeout() -> None:
    assert STOPPED.text().splitlines()[0] == (
        "TIMEOUT: layer=tool_wait owner=watchdog tool=publish session=s-1 timeout=900s elapsed=900s call_id=call_1"
    )


@pytest.mark.contract("T9")
def test_the_first_line_carries_every_fact_of_a_cancellation() -> None:
    by_caller = Cancelled("call_1", "publish", "s-1", "cancel", "caller", 0.25)
    assert CANCELLED.text().splitlines()[0] == (
        "CANCELED: layer=server_tool owner=server tool=publish session=s-1 timeout=600s elapsed=601.5s call_id=call_1"
    )
    assert by_caller.text().startswith("CANCELED: layer=cancel owner=caller tool=publish session=s-1 timeout=none")
    assert "check" in by_caller.message


def test_a_cancellation_is_cancelled_and_not_timed_out() -> None:
    facts = CANCELLED.structured()
    assert (facts["outcome"], facts["cancelled"]) == ("cancelled", True)
    assert "timed_out" not in facts


@pytest.mark.parametrize(("seconds", "text"), [(0.0004, "0s"), (0.04, "0.04s"), (900, "900s"), (5400.5, "5400.5s")])
def test_seconds_are_short_and_exact_to_the_millisecond(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text
