"""Who is told that a call has ended, and when."""

from __future__ import annotations

import pytest

from mcp_agent.calls.running import RunningCalls

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S6")]


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def running(told: list[str]) -> RunningCalls:
    return RunningCalls(on_end=told.append)


async def test_a_call_that_answers_while_it_is_waited_for_is_told_of_once_at_its_end(
    running: RunningCalls, told: list[str]
) -> None:
    with running.wait("call_1", session_id="s-1"):
        with running.work("call_1", session_id="s-1"):
            assert running.at_work_for("s-1") == "a tool call runs"
        assert told == []
    assert told == ["s-1"]
    assert running.at_work_for("s-1") is None


async def test_work_that_outlives_its_wait_is_told_of_when_it_is_over(running: RunningCalls, told: list[str]) -> None:
    with running.work("call_1", session_id="s-1"):
        with running.wait("call_1", session_id="s-1"):
            pass
        assert told == []
    assert told == ["s-1"]


async def test_each_of_two_calls_is_told_of(running: RunningCalls, told: list[str]) -> None:
    with running.wait("call_1", session_id="s-1"):
        with running.wait("call_2", session_id="s-1"):
            assert running.at_work_for("s-1") == "2 tool calls run"
        assert told == ["s-1"]
    assert told == ["s-1", "s-1"]
