"""Servers that are killed at any moment: what was acknowledged is run to its end, and no prompt is given twice."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from secrets import token_hex
from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import RemoteError
from tests.executions.conftest import FINISHED
from tests.server.conftest import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.executions.conftest import Household, Postgres
    from tests.server.conftest import Bridge


@pytest.mark.contract("E1")
def test_five_children_of_which_three_may_run_outlive_two_deaths_and_each_prompt_is_given_once(
    open_household: Callable[..., Household],
) -> None:
    household = open_household(concurrency=3)
    gate = household.root / "gate"
    household.quirks["thinks_until"] = str(gate)
    prompts = [f"prompt {number}" for number in range(5)]
    started = [household.start(prompt)["execution_id"] for prompt in prompts]
    eventually(lambda: len(household.executions(state="running")) == 3)
    household.crash()
    household.start_again()
    eventually(lambda: len(household.submitted()) == 3)
    assert len(household.executions(state="running")) == 3
    household.crash()
    gate.touch()
    household.start_again()

    ended = [household.end_of(execution) for execution in started]
    assert [one["state"] for one in ended] == ["succeeded"] * 5
    assert [one["final_text"] for one in ended] == [f"ECHO: {prompt}" for prompt in prompts]
    assert sorted(household.submitted()) == prompts


@pytest.mark.contract("E1")
@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.long)])
def test_nothing_that_was_acknowledged_is_lost_by_a_server_that_is_killed_at_random_moments(
    open_household: Callable[..., Household], count: int
) -> None:
    household = open_household()
    household.quirks["thinks_until"] = str(household.root / "never")
    parent, moment = household.parent(), random.Random(count)
    acknowledged = set[str]()
    while len(acknowledged) < count:
        bridge = household.server.bridge(parent)
        acknowledged |= acknowledged_until_the_end(household, bridge, seconds=moment.uniform(0.02, 0.4))
        bridge.process.kill()
        household.start_again()
    known = {one["execution_id"] for one in household.executions()}
    assert acknowledged <= known


def acknowledged_until_the_end(household: Household, bridge: Bridge, *, seconds: float) -> set[str]:
    """The executions that a bridge was told of until its server was killed."""
    found, ends = set[str](), time.monotonic() + seconds
    while time.monotonic() < ends:
        found.add(json.loads(bridge.call("call_sub_agent", agent="helper", instructions=token_hex(4)))["execution_id"])
    for _ in range(3):
        bridge.begin("call_sub_agent", agent="helper", instructions=token_hex(4))
    household.crash()
    for _ in range(3):
        answer = bridge.read()["result"]["content"][0]["text"]
        if answer.startswith("{"):
            found.add(json.loads(answer)["execution_id"])
    return found


@pytest.mark.contract("S9")
def test_a_server_that_is_merely_stopped_leaves_its_executions_to_the_next_one(household: Household) -> None:
    gate = household.root / "gate"
    household.quirks["thinks_until"] = str(gate)
    execution = household.start("patience")["execution_id"]
    household.until_submitted("patience")
    # A send that is on its way keeps a server for ten seconds.
    eventually(lambda: household.message_states(str(household.get(execution)["session_id"])) == ["delivered"])
    household.server.client.post("/server/stop", waits=True)
    household.server.client.wait_until_gone()
    household.start_again()
    assert household.get(execution)["state"] == "running"
    gate.touch()
    assert household.end_of(execution)["final_text"] == "ECHO: patience"
    assert household.submitted() == ["patience"]

    left = household.start("left")["execution_id"]
    stopped = household.server.client.post("/server/stop?now=true", waits=True)
    assert stopped["cancelled_executions"] == 1
    household.server.client.wait_until_gone()
    household.start_again()
    assert household.get(left)["state"] in {"cancelled", "succeeded"}


@pytest.mark.contract("W8")
def test_a_call_that_a_dying_server_did_not_answer_is_known_by_its_execution(household: Household) -> None:
    household.quirks["thinks_until"] = str(household.root / "never")
    parent = household.parent()
    bridge = household.server.bridge(parent)
    bridge.begin("call_sub_agent", agent="helper", instructions="once")
    rows = household.server.state.executions
    eventually(lambda: b"once" in rows.with_name(f"{rows.name}-wal").read_bytes())
    household.crash()
    answer = str(bridge.read()["result"]["content"][0]["text"])
    household.start_again()
    again = household.server.bridge(parent).call("call_sub_agent", agent="helper", instructions="once")
    if not answer.startswith("{"):
        assert again.startswith("This call was NOT run.")
        assert len(household.executions()) == 1


@pytest.mark.contract("E5")
def test_an_idempotency_key_is_one_execution_over_the_death_of_the_server_and_never_another_task(
    household: Household,
) -> None:
    first = household.start("once", idempotency_key="key")["execution_id"]
    assert household.start("once", idempotency_key="key")["execution_id"] == first
    household.crash()
    household.start_again()
    assert household.start("once", idempotency_key="key")["execution_id"] == first
    assert household.end_of(first)["state"] == "succeeded"
    assert household.start("once", idempotency_key="key")["execution_id"] == first
    with pytest.raises(RemoteError) as caught:
        household.start("something else", idempotency_key="key")
    assert (caught.value.kind, caught.value.fields["execution_id"]) == ("IdempotencyKeyReused", first)
    assert household.submitted() == ["once"]


@pytest.mark.contract("E6")
def test_a_result_is_told_once_whatever_dies_while_it_is_told(household: Household) -> None:
    gate = household.root / "gate"
    household.quirks["thinks_until"] = str(gate)
    parent = household.parent()
    started = []
    for number in range(3):
        answer = household.server.bridge(parent).call("call_sub_agent", agent="helper", instructions=f"task {number}")
        started.append(json.loads(answer)["execution_id"])
    eventually(lambda: len(household.submitted()) == 3)
    gate.touch()
    moment = random.Random(3)
    for _ in range(4):
        time.sleep(moment.uniform(0, 0.3))
        household.crash()
        household.start_again()

    for execution in started:
        household.end_of(execution)
    eventually(lambda: all(household.get(one)["delivery"] == "sent" for one in started))
    messages = household.server.client.get(f"/sessions/{parent}/messages")
    eventually(lambda: not {"waiting", "sending"} & set(household.message_states(parent)))
    told = household.results_told(parent)
    assert len(told) == len(set(told))
    assert len(told) + household.message_states(parent).count("unconfirmed") == 3, messages


@pytest.mark.parametrize("database_url", [None])
def test_executions_wait_for_a_database_that_is_away_and_none_is_lost(
    open_household: Callable[..., Household], postgres: Postgres
) -> None:
    url = postgres.make_database()
    household = open_household(database_url=url)
    postgres.stop()
    try:
        execution = household.start("patience")["execution_id"]
        eventually(lambda: "does not answer" in str(household.get(execution)["detail"]))
        assert url not in household.get(execution)["detail"]
        household.crash()
        household.start_again()
        assert household.get(execution)["state"] == "queued"
    finally:
        postgres.start()
    assert household.end_of(execution)["final_text"] == "ECHO: patience"


@pytest.mark.parametrize("database_url", [None])
def test_an_engine_that_forgot_everything_is_handed_everything_again(household: Household) -> None:
    gate = household.root / "gate"
    household.quirks["thinks_until"] = str(gate)
    execution = household.start("again")["execution_id"]
    household.until_submitted("again")
    household.crash()
    household.server.state.engine.unlink()
    gate.touch()
    household.start_again()
    assert household.end_of(execution)["final_text"] == "ECHO: again"
    assert household.submitted() == ["again"]


@pytest.mark.parametrize("database_url", [None])
def test_what_a_child_is_launched_with_is_forgotten_when_it_has_ended(household: Household) -> None:
    household.end_of(household.start("hello")["execution_id"])
    rows = sqlite3.connect(household.server.state.executions)
    try:
        assert rows.execute("SELECT secrets FROM executions").fetchall() == [(None,)]
    finally:
        rows.close()
    assert household.server.state.executions.stat().st_mode & 0o077 == 0
    assert household.server.state.engine.stat().st_mode & 0o077 == 0
    assert {one["state"] for one in household.executions()} <= FINISHED
