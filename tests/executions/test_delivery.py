"""How a parent's session is told of a result: once, as a message when it is free, or by the tool that asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.executions.conftest import SLEEPS, Household
from tests.server.conftest import eventually
from tests.server.test_cycles import tmux

if TYPE_CHECKING:
    from tests.server.conftest import Bridge

pytestmark = pytest.mark.contract("E6")


def told(answer: str) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(answer)
    return facts


class Family:
    """A parent whose child answers as soon as the test lets it."""

    def __init__(self, household: Household) -> None:
        self.household, self.gate = household, household.root / "gate"
        household.quirks["thinks_until"] = str(self.gate)
        self.parent = household.parent()
        self.bridge = household.server.bridge(self.parent)

    def child(self, **more: object) -> str:
        answer = self.bridge.call("call_sub_agent", agent="helper", instructions="the task", **more)
        execution = str(told(answer)["execution_id"])
        self.household.until_submitted("You help.\n\nthe task")
        return execution

    def send(self, text: str) -> None:
        self.household.server.client.post(f"/sessions/{self.parent}/send", {"text": text}, waits=True)

    def states(self) -> list[str]:
        return self.household.message_states(self.parent)

    def tell_apart(self, execution: str) -> str:
        """What became of telling the parent, once that is decided."""
        eventually(lambda: self.household.get(execution)["delivery"] not in {"pending", "claimed"})
        return str(self.household.get(execution)["delivery"])


@pytest.fixture
def household(shared_household: Household) -> Household:
    return shared_household


def begin(bridge: Bridge, tool: str, **arguments: object) -> None:
    bridge.begin(tool, **arguments)


def test_a_busy_parent_is_told_on_its_next_turn(household: Household) -> None:
    family = Family(household)
    execution = family.child()
    family.send("busy")
    family.gate.touch()
    household.end_of(execution)

    eventually(lambda: family.states() == ["delivered", "delivered"])
    (result,) = household.results_told(family.parent)
    assert result == (
        f"[execution {execution} of agent helper has ended: succeeded]\nIts final answer:\nECHO: You help.\n\nthe task"
    )
    assert family.tell_apart(execution) == "sent"


def test_a_parent_that_waits_by_a_tool_hears_of_it_there_and_nowhere_else(household: Household) -> None:
    family = Family(household)
    execution = family.child()
    early = told(family.bridge.call("wait_execution", execution_id=execution, timeout_seconds=0.2))
    assert (early["state"], early["delivery"]) == ("running", "pending")
    begin(family.bridge, "wait_execution", execution_id=execution, timeout_seconds=60)
    family.gate.touch()
    answer = told(family.bridge.read()["result"]["content"][0]["text"])

    assert (answer["state"], answer["final_text"]) == ("succeeded", "ECHO: You help.\n\nthe task")
    assert (answer["delivery"], family.tell_apart(execution)) == ("told", "told")
    assert (family.states(), household.results_told(family.parent)) == ([], [])


def test_a_parent_that_asks_before_it_is_free_is_not_told_again(household: Household) -> None:
    family = Family(household)
    execution = family.child()
    family.gate.touch()
    family.send(SLEEPS)
    eventually(lambda: household.server.calls(family.parent))
    household.end_of(execution)
    eventually(lambda: family.states()[-1] in {"waiting", "delivered"})
    if family.states()[-1] == "delivered":
        pytest.skip("the child was quicker than its parent's own turn")
    other = household.server.bridge(family.parent)
    assert told(other.call("get_execution", execution_id=execution))["delivery"] == "told"
    assert family.states() == ["delivered", "withdrawn"]
    household.server.client.post(f"/sessions/{family.parent}/interrupt", waits=True)
    assert household.results_told(family.parent) == []


def test_a_parent_that_was_lost_is_gone_on_with_and_told_once(household: Household) -> None:
    family = Family(household)
    execution = family.child()
    session = household.server.client.get(f"/sessions/{family.parent}")
    pane: Any = session["pane"]
    tmux(household.server, "kill-window", "-t", pane["window_id"])
    eventually(lambda: household.server.client.get(f"/sessions/{family.parent}")["state"] == "lost")
    family.gate.touch()
    household.end_of(execution)

    eventually(lambda: len(household.results_told(family.parent)) == 1)
    assert family.tell_apart(execution) == "sent"
    assert household.server.client.get(f"/sessions/{family.parent}")["pane"] != pane
    assert family.states() == ["delivered"]


def test_a_parent_that_wants_no_message_gets_none(household: Household) -> None:
    family = Family(household)
    execution = family.child(notify=False)
    family.gate.touch()
    assert household.end_of(execution)["delivery"] == "none"
    listed = told(family.bridge.call("list_executions"))["executions"]
    assert [(one["execution_id"], one["state"]) for one in listed] == [(execution, "succeeded")]
    assert family.states() == []


@pytest.mark.contract("E4")
def test_an_agent_cancels_what_it_started_and_hears_so_at_once(household: Household) -> None:
    family = Family(household)
    execution = family.child()
    answer = told(family.bridge.call("cancel_execution", execution_id=execution))
    assert (answer["state"], answer["owner"], answer["delivery"]) == ("cancelled", "agent", "told")
    assert told(family.bridge.call("cancel_execution", execution_id=execution))["state"] == "cancelled"
    assert household.server.client.get(f"/sessions/{answer['session_id']}")["state"] == "stopped"
    assert family.states() == []
