"""The ledger on a real file: what is written is there for whoever comes next."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import (
    Decider,
    DuplicateAllowed,
    Gated,
    Happened,
    Offered,
    Outcome,
    Progress,
    Recorded,
    Unrecognised,
    WaitEnded,
    WhyEnded,
)
from mcp_agent.errors import DuplicateCall, UnknownCall
from mcp_agent.processes import ProcessIdentity, identify, is_alive

if TYPE_CHECKING:
    from tests.calls.ledger.conftest import Place

STOPPED_WAITING = WaitEnded(WhyEnded.TOOL_WAIT, 900.0)
ANSWERED = (WaitEnded(WhyEnded.RESULT, 1.0), Outcome(Happened.SUCCEEDED))


def ids(calls: tuple[object, ...]) -> list[str]:
    return [call.call_id for call in calls]  # type: ignore[attr-defined]


@pytest.mark.contract("W6")
def test_an_intent_is_on_record_before_anything_else(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_1", place.intent())
    with Ledger.read_only(place.path) as other:
        state = other.get("call_1")

    assert state.intent == place.intent()
    assert (state.call_id, state.session_id, state.tool, state.category) == ("call_1", "s-1", "publish", "custom")
    assert (state.arguments, state.digest, state.turn_id) == ({"title": "a"}, "d-1", None)
    assert (state.is_open, state.happened, state.result_bytes, state.started_at) == (True, None, None, 1000.0)


def test_a_call_id_is_used_once(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_1", place.intent())

    with pytest.raises(DuplicateCall, match="call_1 was used before; this call was not started"):
        ledger.intent("call_1", place.intent(tool="other"))
    assert ledger.get("call_1").tool == "publish"


def test_a_fact_of_an_unknown_call_is_refused(ledger: Ledger) -> None:
    with pytest.raises(UnknownCall, match="no call call_9"):
        ledger.append("call_9", Progress())
    with pytest.raises(UnknownCall):
        ledger.get("call_9")
    with pytest.raises(UnknownCall):
        ledger.events("call_9")


def test_facts_keep_their_order_whatever_the_clock_does(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_1", place.intent())
    place.clock.now = 500.0
    ledger.append("call_1", Progress("begun"), Progress())

    assert ledger.events("call_1") == (
        Recorded(1000.0, place.intent()),
        Recorded(500.0, Progress("begun")),
        Recorded(500.0, Progress()),
    )


def test_several_facts_are_added_all_or_none(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_1", place.intent())

    with pytest.raises(TypeError):
        ledger.append("call_1", Progress(), Outcome(Happened.SUCCEEDED, detail=b"no text"))  # type: ignore[arg-type]
    assert len(ledger.events("call_1")) == 1


@pytest.mark.contract("W6")
def test_after_kill_9_the_open_call_is_found_and_its_owner_is_gone(place: Place) -> None:
    program = """
ledger = Ledger.open(path)
ledger.intent("call_answered", intent())
ledger.append("call_answered", WaitEnded(WhyEnded.RESULT, 1.0), Outcome(Happened.SUCCEEDED))
ledger.intent("call_1", intent())
print("written", flush=True)
sys.stdin.read()
"""
    with place.child(program) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "written\n", child.communicate()[1]
        child.send_signal(signal.SIGKILL)
        child.wait()

    with place.open() as ledger:
        assert ledger.get("call_answered").happened is Happened.SUCCEEDED
        (lost,) = ledger.orphans(is_alive)
        assert (lost.call_id, lost.intent.owner.pid) == ("call_1", child.pid)
        ledger.append("call_1", WaitEnded(WhyEnded.RUNTIME_LOST, 5.0))
        after = ledger.get("call_1")
        assert (after.why, after.happened, after.is_unknown) == (WhyEnded.RUNTIME_LOST, Happened.UNKNOWN, True)
        assert ledger.orphans(is_alive) == ()


@pytest.mark.contract("W6")
def test_a_call_of_a_living_server_is_no_orphan(ledger: Ledger, place: Place) -> None:
    alive = identify(os.getpid())
    assert alive is not None
    ledger.intent("call_ours", place.intent(owner=alive))
    ledger.intent("call_of_a_recycled_pid", place.intent(owner=alive._replace(start_time=1)))
    ledger.intent("call_before_the_boot", place.intent(owner=ProcessIdentity(alive.pid, alive.start_time, "before")))

    assert ids(ledger.open_calls()) == ["call_before_the_boot", "call_of_a_recycled_pid", "call_ours"]
    assert ids(ledger.orphans(is_alive)) == ["call_before_the_boot", "call_of_a_recycled_pid"]


@pytest.mark.contract("W5")
def test_a_late_outcome_is_kept_listed_and_offered_once(ledger: Ledger, place: Place) -> None:
    for call_id, session in (("call_1", "s-1"), ("call_2", "s-1"), ("call_3", "s-2")):
        ledger.intent(call_id, place.intent(session_id=session))
        ledger.append(call_id, STOPPED_WAITING)
    assert ledger.late_unoffered("s-1") == ()

    ledger.append("call_1", Outcome(Happened.FAILED, "refused", late=True))
    ledger.append("call_3", Outcome(Happened.SUCCEEDED, late=True))
    (late,) = ledger.late_unoffered("s-1")
    assert (late.call_id, late.happened, late.detail) == ("call_1", Happened.FAILED, "refused")
    assert ids(ledger.list(session="s-1", unknown_only=True)) == ["call_2"]

    ledger.append("call_1", Offered())
    assert ledger.late_unoffered("s-1") == ()
    assert ledger.get("call_1").offered
    assert ids(ledger.late_unoffered("s-2")) == ["call_3"]


def test_an_outcome_in_time_is_not_offered_again(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_1", place.intent())
    ledger.append("call_1", *ANSWERED)

    assert ledger.late_unoffered("s-1") == ()


@pytest.mark.contract("W10")
def test_calls_are_listed_newest_first_by_session_and_by_what_is_unknown(ledger: Ledger, place: Place) -> None:
    for number in range(6):
        ledger.intent(f"call_{number}", place.intent(session_id=f"s-{number % 2}"))
    for number in (0, 1, 3):
        ledger.append(f"call_{number}", STOPPED_WAITING)
    ledger.append("call_2", *ANSWERED)

    assert ids(ledger.list()) == [f"call_{number}" for number in (5, 4, 3, 2, 1, 0)]
    assert ids(ledger.list(session="s-1")) == ["call_5", "call_3", "call_1"]
    assert ids(ledger.list(unknown_only=True)) == ["call_3", "call_1", "call_0"]
    assert ids(ledger.list(session="s-1", unknown_only=True, limit=1)) == ["call_3"]
    assert ids(ledger.list(limit=2)) == ["call_5", "call_4"]
    assert ids(ledger.open_calls()) == ["call_5", "call_4"]


@pytest.mark.contract("W10")
def test_looking_up_changes_nothing(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_1", place.intent())
    ledger.append("call_1", STOPPED_WAITING, Outcome(Happened.SUCCEEDED, late=True))
    before = ledger.events("call_1")
    for look in (ledger.list, ledger.open_calls, lambda: ledger.get("call_1"), lambda: ledger.late_unoffered("s-1")):
        look()

    assert ledger.events("call_1") == before


@pytest.mark.contract("W8")
def test_similar_calls_are_those_of_the_same_session_tool_and_arguments_whose_caller_knows_no_outcome(
    ledger: Ledger, place: Place
) -> None:
    others = {"call_session": {"session_id": "s-2"}, "call_tool": {"tool": "x"}, "call_arguments": {"digest": "x"}}
    for call_id, changes in others.items():
        ledger.intent(call_id, place.intent(**changes))
    for call_id in ("call_1", "call_2", "call_3", "call_4", "call_5", "call_6"):
        ledger.intent(call_id, place.intent())
    ledger.append("call_1", STOPPED_WAITING)
    ledger.append("call_2", *ANSWERED)
    ledger.append("call_3", WaitEnded(WhyEnded.RESULT, 1.0), Outcome(Happened.UNKNOWN))
    ledger.append("call_5", STOPPED_WAITING, Outcome(Happened.SUCCEEDED, late=True), Offered())
    ledger.append("call_6", STOPPED_WAITING, Outcome(Happened.SUCCEEDED, late=True), Offered(asked=True))

    assert ids(ledger.similar("s-1", "publish", digest="d-1")) == ["call_5", "call_4", "call_3", "call_1"]


@pytest.mark.contract("W8")
def test_a_gated_call_and_an_allowed_duplicate_say_so_in_their_records(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_gated", place.intent())
    ledger.append("call_gated", Gated("call_0"), WaitEnded(WhyEnded.RESULT, 0.0), Outcome(Happened.NOT_STARTED))
    ledger.intent("call_allowed", place.intent())
    ledger.append("call_allowed", DuplicateAllowed("call_0", Decider.AGENT))

    assert ledger.get("call_gated").gated_by == "call_0"
    assert not ledger.get("call_gated").is_unknown
    assert ledger.get("call_allowed").duplicate_of == ("call_0",)


def test_a_fact_of_a_newer_version_is_shown_and_does_no_harm(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_1", place.intent())
    ledger.connection.execute("INSERT INTO events (call_id, at, kind, facts) VALUES ('call_1', 1.0, 'dreamt', '{}')")
    ledger.connection.execute("INSERT INTO events (call_id, at, kind, facts) VALUES ('call_x', 1.0, 'intent', '{}')")

    assert ledger.events("call_1")[-1].event == Unrecognised("dreamt", "{}")
    assert ids(ledger.list()) == ["call_1"]
