"""The retry gate: nothing runs twice by accident, and everything may run twice on purpose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mcp_agent.calls.gate import AnswerWith, Because, Run, ToolFacts, decide, in_the_way
from mcp_agent.calls.ledger_events import (
    Decider,
    Event,
    Evidence,
    Gated,
    Happened,
    Offered,
    Outcome,
    Progress,
    Resolved,
    Verdict,
    WaitEnded,
    WhyEnded,
)
from mcp_agent.calls.ledger_fold import CallState

if TYPE_CHECKING:
    from tests.calls.ledger.conftest import Place

pytestmark = pytest.mark.contract("W8")

PLAIN = ToolFacts(read_only=False, idempotent=False)
STOPPED_WAITING = WaitEnded(WhyEnded.TOOL_WAIT, 900.0)
ANSWERED = WaitEnded(WhyEnded.RESULT, 1.0)
NOW = 1600.0


@pytest.mark.parametrize("why", [why for why in WhyEnded if why is not WhyEnded.RESULT])
def test_an_identical_call_is_answered_with_the_earlier_one_whatever_ended_its_wait(
    place: Place, why: WhyEnded
) -> None:
    earlier = place.state(Progress(), WaitEnded(why, 1.0))

    assert decide(PLAIN, [earlier]) == AnswerWith(earlier)


@pytest.mark.parametrize(
    "events",
    [
        [STOPPED_WAITING, Outcome(Happened.UNKNOWN)],
        [ANSWERED, Outcome(Happened.UNKNOWN, "connection lost")],
        [ANSWERED],
        [STOPPED_WAITING, Evidence(Verdict.CANNOT_TELL)],
        [STOPPED_WAITING, Evidence(Verdict.HAPPENED)],
        [STOPPED_WAITING, Evidence(Verdict.DID_NOT_HAPPEN), Evidence(Verdict.HAPPENED)],
    ],
)
def test_a_call_of_unknown_outcome_stands_in_the_way(place: Place, events: list[Event]) -> None:
    assert isinstance(decide(PLAIN, [place.state(*events)]), AnswerWith)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [Progress()],
        [Progress(), Outcome(Happened.UNKNOWN)],
        *([ANSWERED, Outcome(happened)] for happened in Happened if happened is not Happened.UNKNOWN),
        [STOPPED_WAITING, Outcome(Happened.SUCCEEDED, late=True), Offered(asked=True)],
        [STOPPED_WAITING, Outcome(Happened.FAILED, late=True), Offered(), Offered(asked=True)],
        [STOPPED_WAITING, Outcome(Happened.SUCCEEDED, late=True), Resolved(True, "", Decider.OWNER)],
        [STOPPED_WAITING, Outcome(Happened.NOT_STARTED, late=True)],
        [STOPPED_WAITING, Evidence(Verdict.DID_NOT_HAPPEN)],
        [STOPPED_WAITING, Resolved(False, "", Decider.OWNER)],
        [STOPPED_WAITING, Resolved(True, "", Decider.AGENT)],
        [Gated("call_0"), ANSWERED, Outcome(Happened.NOT_STARTED)],
    ],
)
def test_a_call_that_is_waited_for_or_known_stands_in_nobodys_way(place: Place, events: list[Event]) -> None:
    assert decide(PLAIN, [place.state(*events)]) == Run(Because.NOTHING_IN_THE_WAY)


@pytest.mark.parametrize("told", [[], [Offered()]])
@pytest.mark.parametrize(
    ("happened", "said"), [("succeeded", "it succeeded,"), ("failed", "it failed,"), ("cancelled", "it was cancelled,")]
)
def test_an_end_that_came_late_stands_in_the_way_until_its_caller_asks(
    place: Place, happened: str, said: str, told: list[Event]
) -> None:
    late = Outcome(Happened(happened), late=True)
    earlier = place.state(STOPPED_WAITING, late, Evidence(Verdict.DID_NOT_HAPPEN), *told)

    decision = decide(PLAIN, [earlier], check=never)

    assert decision == AnswerWith(earlier)
    assert said in decision.text(NOW)
    assert "get_tool_call(call_id='call_1')" in decision.text(NOW)
    assert decision.structured(NOW)["outcome"] == happened


def test_an_end_that_came_late_names_the_others_in_the_way(place: Place) -> None:
    ended = place.state(STOPPED_WAITING, Outcome(Happened.SUCCEEDED, late=True), call_id="call_2")

    decision = decide(PLAIN, [ended, place.state(STOPPED_WAITING)])

    assert isinstance(decision, AnswerWith)
    assert "Look up call_1 too." in decision.text(NOW)


def test_a_first_call_runs() -> None:
    assert decide(PLAIN, [], allow_duplicate=True) == Run(Because.NOTHING_IN_THE_WAY)


@pytest.mark.parametrize("tool", [ToolFacts(read_only=True, idempotent=False), ToolFacts(False, idempotent=True)])
def test_a_tool_that_does_no_harm_twice_runs_unchecked(place: Place, tool: ToolFacts) -> None:
    assert decide(tool, [place.state(STOPPED_WAITING)], check=never) == Run(Because.HARMLESS)


def test_an_allowed_duplicate_runs_unchecked_and_names_what_it_may_repeat(place: Place) -> None:
    earlier = [place.state(STOPPED_WAITING, call_id=call_id) for call_id in ("call_2", "call_1")]

    decision = decide(PLAIN, [*earlier, place.state(call_id="call_0")], allow_duplicate=True, check=never)

    assert decision == Run(Because.ALLOWED, duplicate_of=("call_2", "call_1"))


@pytest.mark.contract("W9")
def test_evidence_that_it_did_not_happen_lets_a_call_run(place: Place) -> None:
    found = Evidence(Verdict.DID_NOT_HAPPEN, "no such article")

    decision = decide(PLAIN, [place.state(STOPPED_WAITING)], check=lambda _: found)

    assert decision == Run(Because.DID_NOT_HAPPEN, evidence=(("call_1", found),))


@pytest.mark.contract("W9")
def test_each_call_in_the_way_needs_its_own_evidence(place: Place) -> None:
    newer, older = (place.state(STOPPED_WAITING, call_id=call_id) for call_id in ("call_2", "call_1"))
    found = Evidence(Verdict.DID_NOT_HAPPEN)

    decision = decide(PLAIN, [newer, older], check=lambda call: found if call is newer else None)

    assert decision == AnswerWith(older, evidence=(("call_2", found),))


@pytest.mark.contract("W9")
def test_new_evidence_does_not_outvote_old_evidence_against_it(place: Place) -> None:
    earlier = place.state(STOPPED_WAITING, Evidence(Verdict.HAPPENED))

    decision = decide(PLAIN, [earlier], check=lambda _: Evidence(Verdict.DID_NOT_HAPPEN))

    assert isinstance(decision, AnswerWith)


@pytest.mark.contract("W9")
def test_a_check_that_raises_could_not_tell(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    decision = decide(PLAIN, [place.state(STOPPED_WAITING)], check=never)

    assert isinstance(decision, AnswerWith)
    assert decision.evidence == (("call_1", Evidence(Verdict.CANNOT_TELL, "the check raised")),)
    assert "the check of publish raised on call_1" in caplog.text


def test_the_newest_of_several_is_the_answer_and_the_others_are_named(place: Place) -> None:
    calls = [place.state(STOPPED_WAITING, call_id=call_id) for call_id in ("call_3", "call_2", "call_1")]

    decision = decide(PLAIN, calls)

    assert decision == AnswerWith(calls[0], ("call_2", "call_1"))
    assert " So are the outcomes of call_2, call_1. " in decision.text(NOW)
    assert in_the_way(calls) == calls


def test_the_answer_says_what_is_known_and_what_to_do(place: Place) -> None:
    text = answer_to(place).text(NOW)

    assert "NOT run" in text
    assert "call_1, was started 10m ago, and its outcome is unknown" in text
    assert "get_tool_call(call_id='call_1')" in text
    assert "wait_tool_call(call_id='call_1')" in text
    assert "allow_duplicate: true" in text


@pytest.mark.parametrize("evidence", [[], [Evidence(Verdict.CANNOT_TELL)], [Evidence(Verdict.HAPPENED)]])
def test_the_answer_never_claims_an_outcome(place: Place, evidence: list[Evidence]) -> None:
    text = answer_to(place, *evidence).text(NOW)

    assert not text.startswith(("TIMEOUT", "CANCELED", "ERROR"))
    assert not re.search(r"already|fail|error|succe|complete|\bdone\b", text, re.IGNORECASE)


@pytest.mark.contract("W9")
@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (Verdict.HAPPENED, " A check found signs that it took effect. "),
        (Verdict.CANNOT_TELL, " A check could not tell. "),
    ],
)
def test_the_answer_says_what_a_check_saw(place: Place, verdict: Verdict, said: str) -> None:
    decision = decide(PLAIN, [place.state(STOPPED_WAITING)], check=lambda _: Evidence(verdict))

    assert isinstance(decision, AnswerWith)
    assert said in decision.text(NOW)
    assert decision.structured(NOW)["evidence"] == verdict


def test_programs_read_the_same_facts(place: Place) -> None:
    answer = answer_to(place)

    assert answer.structured(NOW) == {
        "outcome": "unknown",
        "gated": True,
        "call_id": "call_1",
        "tool": "publish",
        "why_wait_ended": "tool_wait",
        "age_seconds": 600.0,
        "evidence": None,
        "other_call_ids": [],
        "message": answer.text(NOW),
    }


def test_a_clock_that_was_set_back_gives_no_negative_age(place: Place) -> None:
    answer = answer_to(place)

    assert answer.structured(1.0)["age_seconds"] == 0.0
    assert "was started 0s ago" in answer.text(1.0)


def answer_to(place: Place, *later: Event) -> AnswerWith:
    decision = decide(PLAIN, [place.state(STOPPED_WAITING, *later)])
    assert isinstance(decision, AnswerWith)
    return decision


def never(call: CallState) -> Evidence:
    raise AssertionError(f"{call.call_id} was checked")
