"""What the extension's events mean."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from adapters.pi_cli import ADAPTER
from mcp_agent.adapter import (
    FailureCause,
    LimitedBy,
    PromptAccepted,
    SessionIdentified,
    Source,
    TurnEnded,
    TurnOutcome,
    Usage,
)

USAGE = {"input": 20, "output": 10, "cost": 0.25}


def settled(**facts: object) -> Mapping[str, object]:
    told = {"aborted": False, "stop_reason": "stop", "error": None, "final_text": "Done.", "usage": USAGE}
    return {"event": "settled", **told, **facts}


def refused(error: str) -> Mapping[str, object]:
    return settled(stop_reason="error", error=error, final_text="")


def test_a_conversation_is_identified_with_its_file() -> None:
    event = {"event": "session_start", "session_id": "2f7c", "transcript": "/h/s.jsonl"}

    assert list(ADAPTER.read_event(event)) == [SessionIdentified("2f7c", Path("/h/s.jsonl"))]
    assert list(ADAPTER.read_event({**event, "transcript": None})) == [SessionIdentified("2f7c")]


@pytest.mark.contract("I2", "I4")
@pytest.mark.parametrize("queued", [False, True])
def test_a_prompt_is_accepted_or_queued_with_its_text(queued: bool) -> None:
    event = {"event": "prompt", "text": "a\tb\r\n", "queued": queued}

    assert list(ADAPTER.read_event(event)) == [PromptAccepted("a\tb\r\n", queued=queued)]


@pytest.mark.contract("S3")
@pytest.mark.parametrize("reason", ["stop", "length", "toolUse"])
def test_a_settled_run_is_a_completed_turn_with_its_cost(reason: str) -> None:
    assert list(ADAPTER.read_event(settled(stop_reason=reason))) == [
        TurnEnded(TurnOutcome.COMPLETED, "Done.", usage=Usage(20, 10, 0.25))
    ]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input": 1, "output": 2, "cost": 0}, Usage(1, 2)),
        ({"input": 0, "output": 0, "cost": 0}, None),
        ({"input": "1"}, None),
        (None, None),
    ],
)
def test_what_pi_does_not_know_is_not_counted(usage: object, expected: Usage | None) -> None:
    (ended,) = ADAPTER.read_event(settled(usage=usage))

    assert isinstance(ended, TurnEnded)
    assert ended.usage == expected


@pytest.mark.contract("S3")
def test_an_aborted_run_is_an_interrupted_turn_whatever_was_said() -> None:
    event = settled(aborted=True, stop_reason="error", error="500: down")

    assert list(ADAPTER.read_event(event)) == [TurnEnded(TurnOutcome.INTERRUPTED, usage=Usage(20, 10, 0.25))]


@pytest.mark.parametrize(
    ("error", "cause", "limit"),
    [
        ('401: {"message":"invalid x-api-key"}', FailureCause.LOGIN, None),
        ('403 {"type":"error"}', FailureCause.LOGIN, None),
        ('429: {"message":"slow down"}', FailureCause.LIMITED, "rate"),
        ("429 You exceeded your current quota", FailureCause.LIMITED, "usage"),
        ("402: insufficient credits", FailureCause.LIMITED, "usage"),
        ('500: {"message":"scripted 500"}', FailureCause.LIMITED, None),
        ("529 overloaded_error", FailureCause.LIMITED, None),
        ("Connection error.: connect ECONNREFUSED 127.0.0.1:18099", FailureCause.LIMITED, None),
        ("prompt is too long: 40000 tokens", FailureCause.OTHER, None),
        ('400: {"message":"bad"}', FailureCause.OTHER, None),
    ],
)
def test_a_refusal_is_a_failed_turn_with_its_reason(error: str, cause: FailureCause, limit: str | None) -> None:
    ended, *limits = ADAPTER.read_event(refused(error))

    assert ended == TurnEnded(TurnOutcome.FAILED, error=error, cause=cause, usage=Usage(20, 10, 0.25))
    assert [(one.kind, one.source) for one in limits if isinstance(one, LimitedBy)] == (
        [(limit, Source.HOOK)] if limit else []
    )


def test_a_run_without_an_answer_failed() -> None:
    (ended,) = ADAPTER.read_event(settled(stop_reason=None, final_text="", usage=None))

    assert isinstance(ended, TurnEnded)
    assert (ended.outcome, ended.error) == (TurnOutcome.FAILED, "the run ended without an answer of the model")


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": "session_start"},
        {"event": "session_start", "session_id": ""},
        {"event": "prompt", "text": ""},
        {"event": "prompt", "text": 7},
        {"event": "turn_start"},
        {"hook_event_name": "Stop"},
    ],
)
def test_an_unknown_or_broken_event_means_nothing(event: Mapping[str, object]) -> None:
    assert list(ADAPTER.read_event(event)) == []
