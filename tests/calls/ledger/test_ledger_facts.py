"""Facts survive the way into the file and back, and what they say together never loses one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.calls.ledger_codec import KINDS, LONGEST_TEXT, decode, encode, kind_of
from mcp_agent.calls.ledger_events import (
    Decider,
    DuplicateAllowed,
    Event,
    Evidence,
    Gated,
    Happened,
    Intent,
    Offered,
    Outcome,
    Progress,
    Recorded,
    Resolved,
    Slow,
    Unrecognised,
    Verdict,
    WaitEnded,
    WhyEnded,
)
from mcp_agent.calls.ledger_fold import CallState, NextLimit, fold
from mcp_agent.processes import ProcessIdentity

if TYPE_CHECKING:
    from tests.calls.ledger.conftest import Place

texts = st.text(max_size=20)
seconds = st.floats(min_value=0, max_value=1e9)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
owners = st.builds(ProcessIdentity, st.integers(), st.integers(), st.none() | texts)
intents = st.builds(
    Intent,
    session_id=texts,
    tool=texts,
    category=texts,
    arguments=st.dictionaries(texts, json_values, max_size=3),
    digest=texts,
    turn_id=st.none() | texts,
    wait_limit_seconds=seconds,
    work_limit_seconds=st.none() | seconds,
    owner=owners,
    read_only=st.booleans(),
    idempotent=st.booleans(),
)
later_facts: st.SearchStrategy[Event] = st.one_of(
    st.builds(Slow, seconds, seconds),
    st.builds(Progress, st.none() | texts),
    st.builds(WaitEnded, st.sampled_from(WhyEnded), seconds),
    st.builds(Outcome, st.sampled_from(Happened), texts, st.none() | st.integers(0), st.booleans()),
    st.builds(Evidence, st.sampled_from(Verdict), texts),
    st.builds(Resolved, st.booleans(), texts, st.sampled_from(Decider)),
    st.builds(Gated, texts),
    st.builds(DuplicateAllowed, texts, st.sampled_from(Decider)),
    st.builds(Offered),
)
histories = st.lists(later_facts, max_size=8)


def state_of(intent: Intent, later: list[Event]) -> CallState:
    return fold("call_1", [Recorded(float(at), fact) for at, fact in enumerate([intent, *later])])


def facts_of(call: CallState) -> list[Event]:
    return [*call.ends, *call.outcomes, *call.evidence, *call.resolutions]


@given(intents | later_facts)
def test_every_fact_comes_back_as_it_was_written(fact: Event) -> None:
    assert decode(kind_of(fact), encode(fact)) == fact


def test_every_kind_of_fact_is_written_under_a_name_of_its_own() -> None:
    assert set(KINDS.values()) == set(Event.__args__)


def test_a_lone_surrogate_is_kept_as_it_came(place: Place) -> None:
    intent = place.intent(arguments={"\ud800": "\udfff"})

    assert encode(intent).isascii()
    assert place.again(intent) == intent


def test_an_over_long_detail_is_cut_and_says_by_how_much(place: Place) -> None:
    kept = place.again(Outcome(Happened.FAILED, "x" * (LONGEST_TEXT + 5)))

    assert isinstance(kept, Outcome)
    assert kept.detail == "x" * LONGEST_TEXT + "… (5 more characters)"


@pytest.mark.parametrize(
    ("kind", "facts"),
    [
        ("teleported", "{}"),
        ("wait_ended", '{"why": "boredom", "waited_seconds": 1.0}'),
        ("wait_ended", '{"why": "cancel", "waited_seconds": "long"}'),
        ("wait_ended", '{"why": "cancel"}'),
        ("wait_ended", "[]"),
        ("outcome", "{"),
        ("intent", '{"owner": {"pid": "one"}}'),
    ],
)
def test_a_fact_that_cannot_be_understood_is_kept_and_changes_nothing(place: Place, kind: str, facts: str) -> None:
    known = [Recorded(1.0, place.intent()), Recorded(2.0, Outcome(Happened.SUCCEEDED))]

    assert decode(kind, facts) == Unrecognised(kind, facts)
    assert fold("c", [*known, Recorded(3.0, Unrecognised(kind, facts))]) == fold("c", known)


def test_a_field_of_a_newer_version_is_passed_over() -> None:
    facts = json.dumps({"verdict": "happened", "detail": "seen", "confidence": 0.9})

    assert decode("evidence", facts) == Evidence(Verdict.HAPPENED, "seen")


def test_a_whole_number_of_seconds_is_read_as_seconds() -> None:
    assert decode("wait_ended", '{"why": "cancel", "waited_seconds": 3}') == WaitEnded(WhyEnded.CANCEL, 3.0)


def test_a_call_without_its_intent_is_no_call() -> None:
    with pytest.raises(ValueError, match="call_1 has no intent"):
        fold("call_1", [Recorded(1.0, Progress())])


@pytest.mark.contract("W7")
@given(intents, histories, st.randoms(use_true_random=False))
def test_no_order_of_later_facts_loses_one(intent: Intent, later: list[Event], random: st.DataObject) -> None:
    shuffled = list(later)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    one, other = state_of(intent, later), state_of(intent, shuffled)

    assert sorted(map(repr, facts_of(one))) == sorted(map(repr, facts_of(other)))
    assert (one.late, one.offered, one.is_open, one.verdict) == (
        other.late,
        other.offered,
        other.is_open,
        other.verdict,
    )


@pytest.mark.contract("W7")
@given(intents, histories, later_facts)
def test_a_later_fact_adds_and_never_rewrites_an_earlier_one(intent: Intent, later: list[Event], last: Event) -> None:
    before, after = state_of(intent, later), state_of(intent, [*later, last])

    for kind in ("ends", "outcomes", "evidence", "resolutions", "duplicate_of"):
        kept = getattr(before, kind)
        assert getattr(after, kind)[: len(kept)] == kept
    for decided in ("why", "ended_at", "resolution", "gated_by"):
        assert getattr(before, decided) in {None, getattr(after, decided)}
    assert before.happened in {None, Happened.UNKNOWN, after.happened}
    assert bool(after.contradictions) >= bool(before.contradictions)
    assert (before.intent, before.started_at) == (after.intent, after.started_at)


@pytest.mark.contract("W7")
def test_why_the_wait_ended_and_what_happened_are_two_answers(place: Place) -> None:
    state = place.state(WaitEnded(WhyEnded.CANCEL, 2.0), Outcome(Happened.SUCCEEDED, "published"))

    assert (state.why, state.happened, state.detail) == (WhyEnded.CANCEL, Happened.SUCCEEDED, "published")


def test_a_call_that_is_waited_for_has_no_outcome_yet(place: Place) -> None:
    state = place.state(Progress("begun"), Slow(60.0, 900.0), Progress("half"))

    assert (state.is_open, state.is_unknown, state.why, state.happened) == (True, False, None, None)
    assert (state.started_at, state.last_progress_at, state.ended_at) == (1000.0, 1003.0, None)


@pytest.mark.contract("W7")
def test_a_wait_that_ended_without_an_answer_leaves_the_outcome_unknown(place: Place) -> None:
    state = place.state(WaitEnded(WhyEnded.TOOL_WAIT, 900.0))

    assert (state.happened, state.is_unknown, state.ended_at) == (Happened.UNKNOWN, True, 1001.0)


@pytest.mark.contract("W7")
def test_a_time_out_inside_a_handler_is_unknown_although_it_answered(place: Place) -> None:
    state = place.state(WaitEnded(WhyEnded.RESULT, 30.0), Outcome(Happened.UNKNOWN, "connection lost"))

    assert (state.why, state.is_unknown, state.detail) == (WhyEnded.RESULT, True, "connection lost")


@pytest.mark.contract("W5")
def test_a_late_outcome_says_what_nobody_knew(place: Place) -> None:
    ended = WaitEnded(WhyEnded.TOOL_WAIT, 900.0)
    state = place.state(ended, Outcome(Happened.UNKNOWN), Outcome(Happened.FAILED, "refused", late=True))

    assert (state.happened, state.detail, state.late, state.is_unknown) == (Happened.FAILED, "refused", True, False)
    assert (state.why, len(state.outcomes), state.contradictions) == (WhyEnded.TOOL_WAIT, 2, ())


@pytest.mark.contract("W9")
@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        ([], Verdict.CANNOT_TELL),
        ([Verdict.CANNOT_TELL, Verdict.HAPPENED], Verdict.HAPPENED),
        ([Verdict.DID_NOT_HAPPEN, Verdict.CANNOT_TELL], Verdict.DID_NOT_HAPPEN),
        ([Verdict.DID_NOT_HAPPEN, Verdict.HAPPENED], Verdict.CANNOT_TELL),
    ],
)
def test_evidence_tells_what_all_checks_agree_on(place: Place, verdicts: list[Verdict], together: Verdict) -> None:
    state = place.state(WaitEnded(WhyEnded.RUNTIME_LOST, 5.0), *(Evidence(verdict) for verdict in verdicts))

    assert (state.verdict, state.is_unknown) == (together, together is Verdict.CANNOT_TELL)
    assert (len(state.evidence), state.happened) == (len(verdicts), Happened.UNKNOWN)


def test_a_decision_settles_a_call_and_rewrites_no_observation(place: Place) -> None:
    state = place.state(WaitEnded(WhyEnded.TOOL_WAIT, 900.0), Resolved(True, "it is online", Decider.OWNER))

    assert (state.is_unknown, state.happened) == (False, Happened.UNKNOWN)
    assert state.resolution == Resolved(True, "it is online", Decider.OWNER)


@pytest.mark.contract("W7")
@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (
            Outcome(Happened.CANCELLED),
            Outcome(Happened.SUCCEEDED, late=True),
            "it was observed that it cancelled and then succeeded",
        ),
        (
            WaitEnded(WhyEnded.CANCEL, 1.0),
            WaitEnded(WhyEnded.RESULT, 1.0),
            "the wait ended by cancel and then result",
        ),
        (
            Evidence(Verdict.HAPPENED),
            Evidence(Verdict.DID_NOT_HAPPEN),
            "checks said happened and then did_not_happen",
        ),
        (
            Resolved(True, "", Decider.OWNER),
            Resolved(False, "", Decider.AGENT),
            "people decided that it happened and then it did not happen",
        ),
        (
            Resolved(False, "", Decider.OWNER),
            Outcome(Happened.SUCCEEDED, late=True),
            "the decision of the owner and the observed outcome, succeeded, disagree",
        ),
        (
            Evidence(Verdict.HAPPENED),
            Outcome(Happened.NOT_STARTED),
            "the evidence, happened, and the observed outcome, not_started, disagree",
        ),
    ],
)
def test_a_contradiction_is_kept_and_said(place: Place, first: Event, second: Event, said: str) -> None:
    state = place.state(first, second)

    assert state.contradictions == (said,)
    assert facts_of(state) == sorted([first, second], key=facts_of(state).index)
    assert place.state(first).contradictions == ()


@pytest.mark.parametrize(
    ("events", "work_limit_seconds", "now", "expected"),
    [
        ([], 5400.0, 1000.0, NextLimit("tool_wait", 1900.0)),
        ([], 60.0, 1000.0, NextLimit("server_tool", 1060.0)),
        ([], 60.0, 1061.0, NextLimit("tool_wait", 1900.0)),
        ([], None, 1901.0, None),
        ([WaitEnded(WhyEnded.TOOL_WAIT, 900.0)], 5400.0, 1900.0, NextLimit("server_tool", 6400.0)),
        ([WaitEnded(WhyEnded.TOOL_WAIT, 900.0)], None, 1900.0, None),
        ([WaitEnded(WhyEnded.RESULT, 1.0), Outcome(Happened.SUCCEEDED)], 5400.0, 1000.0, None),
        ([WaitEnded(WhyEnded.RESULT, 1.0), Outcome(Happened.UNKNOWN)], 5400.0, 1000.0, None),
        ([WaitEnded(WhyEnded.RUNTIME_LOST, 1.0)], 5400.0, 1000.0, NextLimit("server_tool", 6400.0)),
        ([WaitEnded(WhyEnded.RUNTIME_LOST, 1.0), Evidence(Verdict.CANNOT_TELL)], 5400.0, 1000.0, None),
        ([WaitEnded(WhyEnded.TOOL_WAIT, 1.0), Resolved(True, "", Decider.OWNER)], 5400.0, 1000.0, None),
        ([WaitEnded(WhyEnded.TOOL_WAIT, 1.0), Outcome(Happened.UNKNOWN, late=True)], 5400.0, 1000.0, None),
    ],
)
def test_the_limit_that_fires_next_is_known(
    place: Place, events: list[Event], work_limit_seconds: float | None, now: float, expected: NextLimit | None
) -> None:
    assert place.state(*events, work_limit_seconds=work_limit_seconds).next_limit(now) == expected
