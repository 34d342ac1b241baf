"""Children of a real server: what they outlive, and what ends them with everything they run."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import McpAgentError
from mcp_agent.executions.records import new_execution_id
from mcp_agent.sessions.closing import processes_of
from tests.executions.conftest import SLEEPS, Household, Json
from tests.server.conftest import eventually, processes_of_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_agent.server.client import Client


def execution_of(answer: str) -> str:
    return str(json.loads(answer)["execution_id"])


@pytest.mark.contract("E1", "E2")
def test_an_execution_runs_in_a_session_of_its_own_that_people_can_look_at(shared_household: Household) -> None:
    household = shared_household
    begun = household.start("hello there")
    assert (begun["state"], begun["session_id"], begun["delivery"]) == ("queued", None, "none")

    ended = household.end_of(begun["execution_id"])
    assert (ended["state"], ended["final_text"], ended["ended_by"]) == ("succeeded", "ECHO: hello there", "result")
    session = household.until_ready(ended["session_id"])
    assert session["execution"] == ended["execution_id"]
    assert household.submitted() == ["hello there"]

    logs = household.server.client.get(f"/executions/{ended['execution_id']}/logs")
    assert [turn["prompt"] for turn in logs["turns"]] == ["hello there"]  # type: ignore[attr-defined]


@pytest.mark.contract("C5", "E6")
def test_a_child_outlives_the_bridge_the_turn_and_the_end_of_its_parent(shared_household: Household) -> None:
    household = shared_household
    parent = household.parent()
    bridge = household.server.bridge(parent)
    execution = execution_of(bridge.call("call_sub_agent", agent="worker", instructions=SLEEPS))
    bridge.process.kill()
    call = household.running_call_of(execution)

    stopped = household.server.client.post(f"/sessions/{parent}/stop", waits=True)
    assert (stopped["executions"], stopped["executions_cancelled"]) == (1, False)
    assert household.get(execution)["state"] == "running"
    assert processes_of_call(call)
    child = household.get(execution)["session_id"]

    assert household.server.client.post(f"/executions/{execution}/cancel", waits=True)["cancelled"] is True
    assert household.get(execution)["state"] == "cancelled"
    assert processes_of_call(call) == processes_of(child) == []
    eventually(lambda: household.get(execution)["delivery"] == "refused")


@pytest.mark.contract("C5")
def test_a_stop_with_cascade_ends_all_children_with_all_their_processes(shared_household: Household) -> None:
    household = shared_household
    parent = household.parent()
    bridge = household.server.bridge(parent)
    started = [execution_of(bridge.call("call_sub_agent", agent="helper", instructions=SLEEPS)) for _ in range(2)]
    calls = [household.running_call_of(execution) for execution in started]
    grandchild_of = household.get(started[0])["session_id"]
    below = household.server.bridge(grandchild_of)
    started.append(execution_of(below.call("call_sub_agent", agent="worker", instructions=SLEEPS)))
    calls.append(household.running_call_of(started[2]))

    stopped = household.server.client.post(f"/sessions/{parent}/stop?cascade=true", waits=True)
    assert (stopped["executions"], stopped["executions_cancelled"]) == (3, True)
    assert [household.get(execution)["state"] for execution in started] == ["cancelled"] * 3
    assert [process for call in calls for process in processes_of_call(call)] == []


@pytest.mark.contract("E4", "T10")
@pytest.mark.parametrize("seconds", [3, pytest.param(10, marks=pytest.mark.long)])
def test_a_deadline_ends_the_work_and_keeps_a_session_that_can_be_used(
    shared_household: Household, seconds: int
) -> None:
    household = shared_household
    execution, call, limit = household.sleeper_with_deadline(seconds)
    ended = household.end_of(execution)

    assert (ended["state"], ended["ended_by"], ended["owner"]) == ("deadline_exceeded", "turn_deadline", "caller")
    assert ended["reason"].startswith("TIMEOUT: layer=turn_deadline owner=caller session=")
    assert f"timeout={limit}s" in ended["reason"]
    eventually(lambda: processes_of_call(call) == [])
    household.until_ready(ended["session_id"])


@pytest.mark.contract("E4")
@pytest.mark.parametrize(
    ("wish", "waited_for", "after"),
    [
        ({"allow_tools": []}, "its session was waiting (permission) when the time was over; the turn was interru", ""),
        (
            {"trust": False},
            "still waited for its turn (its session was blocked (directory trust)) and was withdrawn",
            "stopped",
        ),
    ],
)
def test_a_deadline_tells_what_the_session_waited_for(
    shared_household: Household, wish: Json, waited_for: str, after: str
) -> None:
    place = shared_household.root / f"never-trusted-{new_execution_id()}"
    place.mkdir()
    ended = _overdue_while_needed(shared_household, {"working_directory": str(place), **wish}, seconds=4)
    assert (ended["state"], ended["ended_by"]) == ("deadline_exceeded", "turn_deadline")
    assert waited_for in ended["reason"]
    assert ended["reason"].endswith(after)


def _overdue_while_needed(household: Household, wish: Json, *, seconds: int) -> Json:
    """The end of an execution that needed somebody when its deadline came; a slow machine is given more time."""
    execution = household.start(SLEEPS, deadline_seconds=seconds, **wish)["execution_id"]
    told = household.server.client.wait(f"/executions/{execution}?wait_seconds=60&needs_person=false")
    ended = household.end_of(execution)
    return ended if told["needs_person"] else _overdue_while_needed(household, wish, seconds=2 * seconds)


@pytest.mark.contract("E4")
def test_a_deadline_that_passes_while_no_server_runs_ends_the_work_of_the_next_one(household: Household) -> None:
    household.quirks["thinks_until"] = str(household.root / "never")
    execution = household.start("think", deadline_seconds=5)["execution_id"]
    household.until_submitted("think")
    household.crash()
    household.start_again()

    ended = household.end_of(execution)
    assert (ended["state"], ended["ended_by"]) == ("deadline_exceeded", "turn_deadline")
    household.until_ready(ended["session_id"])
    assert household.submitted() == ["think"]


@pytest.mark.contract("E4")
def test_an_execution_that_never_came_to_begin_is_over_at_its_deadline(
    open_household: Callable[..., Household],
) -> None:
    household = open_household(concurrency=1)
    first = household.start(SLEEPS)["execution_id"]
    household.running_call_of(first)
    second = household.start("too late", deadline_seconds=0.5)["execution_id"]

    ended = household.end_of(second)
    assert (ended["state"], ended["session_id"]) == ("deadline_exceeded", None)
    assert "was not run" in ended["reason"]
    assert "had not begun" in ended["reason"]
    assert household.server.client.post(f"/executions/{first}/cancel", waits=True)["cancelled"] is True
    third = household.start("still taken")["execution_id"]
    assert household.end_of(third)["state"] == "succeeded"
    assert "too late" not in household.submitted()


@pytest.mark.contract("E4")
def test_a_cancel_that_a_dying_server_had_begun_is_done_by_the_next_one(household: Household) -> None:
    household.quirks["thinks_until"] = str(household.root / "never")
    execution = household.start("think")["execution_id"]
    household.until_submitted("think")
    _cancel_without_waiting(household.server.client, execution)
    household.crash()
    household.start_again()
    ended = household.end_of(execution)
    assert ended["state"] == "cancelled"
    assert processes_of(ended["session_id"]) == []


def _cancel_without_waiting(client: Client, execution: str) -> None:
    """Ask for a cancel, and return as soon as it is on disk."""

    def ask() -> None:
        with suppress(McpAgentError):
            client.post(f"/executions/{execution}/cancel", waits=True)

    threading.Thread(target=ask).start()
    eventually(lambda: client.get(f"/executions/{execution}")["state"] in {"cancelling", "cancelled"})
