"""Files of executions that cannot be read, written or opened: named, and in the way of nothing else."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import RemoteError
from mcp_agent.sessions.closing import processes_of
from tests.executions.conftest import SLEEPS
from tests.server.conftest import eventually, processes_of_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.executions.conftest import Household

pytestmark = pytest.mark.parametrize("database_url", [None])


@contextmanager
def held(household: Household) -> Iterator[None]:
    """Nobody else can write the record of executions."""
    with closing(sqlite3.connect(household.server.state.executions, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def damage(household: Household, execution_id: object) -> None:
    with closing(sqlite3.connect(household.server.state.executions)) as other, other:
        other.execute("UPDATE executions SET facts = '{' WHERE id = ?", (execution_id,))


@pytest.mark.contract("E4")
def test_a_cancel_stops_the_work_while_nothing_can_be_written_and_is_on_record_later(household: Household) -> None:
    execution = household.start(SLEEPS)["execution_id"]
    call = household.running_call_of(execution)
    session = household.get(execution)["session_id"]
    with held(household):
        with pytest.raises(RemoteError) as caught:
            household.server.client.post(f"/executions/{execution}/cancel", waits=True)
        assert caught.value.kind == "EndNotWritten"
        assert f"nothing of execution {execution} runs any more" in str(caught.value)
        assert processes_of_call(call) + processes_of(session) == []

    ended = household.end_of(execution)
    assert (ended["state"], ended["ended_by"], ended["owner"]) == ("cancelled", "cancel", "owner")


@pytest.mark.contract("E5")
def test_a_repeated_request_is_answered_though_nothing_could_be_started_any_more(household: Household) -> None:
    place = household.server.work / "place"
    place.mkdir()
    wish = {"in_directory": str(place), "idempotency_key": "once"}
    first = household.start("hello", **wish)["execution_id"]
    household.end_of(first)
    place.rmdir()

    assert household.start("hello", **wish)["execution_id"] == first
    with pytest.raises(RemoteError) as caught:
        household.start("something else", **wish)
    assert caught.value.kind == "IdempotencyKeyReused"


@pytest.mark.contract("E1")
def test_an_engine_whose_file_is_removed_is_opened_anew_and_what_runs_goes_on(household: Household) -> None:
    gate = household.root / "gate"
    household.quirks["thinks_until"] = str(gate)
    first = household.start("first")["execution_id"]
    household.until_submitted("first")
    engine = household.server.state.engine
    engine.unlink()
    second = household.start("second")["execution_id"]
    household.until_submitted("first", "second")
    gate.touch()

    assert household.end_of(first)["final_text"] == "ECHO: first"
    assert household.end_of(second)["final_text"] == "ECHO: second"
    assert household.submitted() == ["first", "second"]
    assert stat.S_IMODE(engine.stat().st_mode) == 0o600


@pytest.mark.contract("E1")
def test_a_directory_in_the_engine_s_place_is_named_and_the_server_starts(household: Household) -> None:
    household.server.client.post("/server/stop")
    household.server.client.wait_until_gone()
    engine = household.server.state.engine
    engine.unlink(missing_ok=True)
    engine.mkdir()
    household.start_again()
    execution = household.start("patience")["execution_id"]
    eventually(lambda: "engine.sqlite) does not answer: Is a directory" in str(household.get(execution)["detail"]))

    engine.rmdir()
    assert household.end_of(execution)["final_text"] == "ECHO: patience"


@pytest.mark.contract("E1")
def test_executions_that_cannot_be_read_are_named_and_the_others_work(open_household: Callable[..., Household]) -> None:
    household = open_household(concurrency=1)
    household.quirks["thinks_until"] = str(household.root / "gate")
    running = household.start("first")["execution_id"]
    household.until_submitted("first")
    broken, sound = (household.start(task)["execution_id"] for task in ("second", "third"))
    household.crash()
    damage(household, broken)
    household.start_again()
    assert [one["execution_id"] for one in household.executions()] == [running, sound]
    assert f"execution {broken} cannot be read" in str(household.server.client.get("/server")["warnings"])
    for act, path in ((household.server.client.get, ""), (household.server.client.post, "/cancel")):
        with pytest.raises(RemoteError) as caught:
            act(f"/executions/{broken}{path}")
        assert caught.value.kind == "ExecutionUnreadable"

    (household.root / "gate").touch()
    assert household.end_of(running)["state"] == household.end_of(sound)["state"] == "succeeded"
    damage(household, running)
    assert [one["execution_id"] for one in household.executions()] == [sound]


@pytest.mark.contract("E4")
def test_an_execution_that_cannot_be_read_at_its_deadline_ends_nothing_else(household: Household) -> None:
    household.quirks["thinks_until"] = str(household.root / "never")
    first = household.start("first", deadline_seconds=3)["execution_id"]
    damage(household, first)
    second = household.start("second", deadline_seconds=4)["execution_id"]
    assert household.end_of(second)["state"] == "deadline_exceeded"
