"""What the adapter makes of hook inputs and rollout rows, as version 0.171.0 writes them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.codex_cli import ADAPTER
from mcp_agent.adapter import (
    FailureCause,
    LimitedBy,
    PromptAccepted,
    SessionIdentified,
    Signal,
    Source,
    TurnEnded,
    TurnOutcome,
    Usage,
    UsageReported,
)

ROLLOUT = "/home/me/.codex/sessions/2026/11/30/rollout-2026-11-30T16-39-54-01a22d53.jsonl"
COMMON = {"session_id": "01a22d53", "transcript_path": ROLLOUT, "cwd": "/srv", "permission_mode": "default"}


def heard(name: object, **fields: object) -> list[Signal]:
    return list(ADAPTER.read_event({**COMMON, "hook_event_name": name, **fields}))


def row(kind: object, **payload: object) -> str:
    return json.dumps({"timestamp": "2026-11-30T16:40:19.315Z", "ordinal": 22, "type": kind, "payload": payload})


def read(*lines: str) -> list[Signal]:
    return list(ADAPTER.read_transcript(lines))


def failed(info: object, message: object = "it broke") -> list[Signal]:
    error = {"message": message, "codex_error_info": info}
    return read(row("event_msg", type="task_complete", turn_id="t", last_agent_message=None, error=error))


def test_a_started_conversation_tells_its_id_and_its_rollout() -> None:
    assert heard("SessionStart", source="startup") == [SessionIdentified("01a22d53", Path(ROLLOUT))]
    assert heard("SessionStart", transcript_path=None) == [SessionIdentified("01a22d53")]


@pytest.mark.contract("I2", "I4")
def test_a_prompt_is_accepted_with_its_text_and_its_turn() -> None:
    prompt = "live line one\n  second line"

    assert heard("UserPromptSubmit", prompt=prompt, turn_id="t") == [PromptAccepted(prompt, native_turn_id="t")]
    assert heard("UserPromptSubmit", prompt=prompt) == [PromptAccepted(prompt)]


@pytest.mark.contract("I2", "S3")
def test_a_subagents_words_are_not_the_sessions() -> None:
    assert heard("UserPromptSubmit", prompt="child", turn_id="t", agent_id="01a22d62", agent_type="default") == []
    assert heard("SessionStart", agent_id="01a22d62") == []


@pytest.mark.parametrize("name", ["Stop", "SessionEnd", "Interrupt", "PermissionRequest", "Else", None, 7])
def test_other_hooks_mean_nothing(name: object) -> None:
    assert heard(name, prompt="x", last_assistant_message="done") == []


@pytest.mark.contract("S3")
def test_a_completed_turn_ends_with_its_last_message() -> None:
    ended = TurnEnded(TurnOutcome.COMPLETED, "done\n| a |", source=Source.TRANSCRIPT, native_turn_id="t")

    assert read(row("event_msg", type="task_complete", turn_id="t", last_agent_message="done\n| a |")) == [ended]


@pytest.mark.contract("S3")
def test_a_turn_without_a_last_message_ends_with_none() -> None:
    (ended,) = read(row("event_msg", type="task_complete", turn_id="t", last_agent_message=None))

    assert isinstance(ended, TurnEnded)
    assert (ended.outcome, ended.final_text) == (TurnOutcome.COMPLETED, "")


@pytest.mark.contract("S3")
def test_an_aborted_turn_was_interrupted() -> None:
    aborted = row("event_msg", type="turn_aborted", turn_id="t", reason="interrupted")

    assert read(aborted) == [TurnEnded(TurnOutcome.INTERRUPTED, source=Source.TRANSCRIPT, native_turn_id="t")]


@pytest.mark.parametrize(
    ("info", "cause"),
    [
        ({"http_connection_failed": {"http_status_code": 401}}, FailureCause.LOGIN),
        ({"http_connection_failed": {"http_status_code": 403}}, FailureCause.LOGIN),
        ({"http_connection_failed": {"http_status_code": 404}}, FailureCause.OTHER),
        ({"http_connection_failed": {"http_status_code": None}}, FailureCause.LIMITED),
        ({"response_stream_disconnected": {"http_status_code": 500}}, FailureCause.LIMITED),
        ("unauthorized", FailureCause.LOGIN),
        ("server_overloaded", FailureCause.LIMITED),
        ("other", FailureCause.OTHER),
        ({"a": 1, "b": 2}, FailureCause.OTHER),
        (None, FailureCause.OTHER),
    ],
)
def test_a_turn_that_failed_says_why(info: object, cause: FailureCause) -> None:
    ended = TurnEnded(TurnOutcome.FAILED, error="it broke", cause=cause, source=Source.TRANSCRIPT, native_turn_id="t")

    assert failed(info) == [ended]


def test_an_error_without_words_is_called_by_its_name() -> None:
    (ended,) = failed("sandbox_error", None)
    (nameless,) = failed(None, None)

    assert isinstance(ended, TurnEnded)
    assert isinstance(nameless, TurnEnded)
    assert (ended.error, nameless.error) == ("sandbox_error", "unknown error")


@pytest.mark.contract("S3")
def test_a_limit_that_failed_a_turn_limits_the_session() -> None:
    assert failed({"response_too_many_failed_attempts": {"http_status_code": 429}})[0] == LimitedBy(
        "rate", source=Source.TRANSCRIPT
    )
    assert failed("usage_limit_exceeded")[0] == LimitedBy("usage", source=Source.TRANSCRIPT)


@pytest.mark.contract("S3")
def test_a_used_up_window_tells_when_it_begins_anew() -> None:
    windows = {
        "primary": {"used_percent": 40.0, "resets_at": 1},
        "secondary": {"used_percent": 100.0, "resets_at": 1796060000},
    }
    limits = {**windows, "rate_limit_reached_type": "weekly"}

    assert read(row("event_msg", type="token_count", rate_limits=limits)) == [
        LimitedBy("usage", datetime.fromtimestamp(1796060000, UTC), Source.TRANSCRIPT)
    ]
    assert read(row("event_msg", type="token_count", rate_limits={"rate_limit_reached_type": "x"})) == [
        LimitedBy("usage", source=Source.TRANSCRIPT)
    ]


def test_what_an_answer_cost_is_told_under_the_answers_own_id() -> None:
    usage = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 5}

    assert read(row("token_usage_record", response_id="resp_1", usage=usage)) == [UsageReported("resp_1", Usage(10, 5))]
    assert read(row("token_usage_record", usage=usage), row("token_usage_record", response_id="r", usage=7)) == []


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    "line",
    [
        row("response_item", type="message", role="user", content=[{"type": "input_text", "text": "task_complete"}]),
        row("event_msg", type="item_completed", item={"type": "AgentMessage", "content": []}),
        row("event_msg", type="item_completed", item={"type": "UserMessage", "content": []}),
        row("event_msg", type="agent_message", message="turn_aborted"),
        row("task_complete", type="task_complete"),
        json.dumps({"type": "event_msg", "payload": "task_complete"}),
        json.dumps({"type": "event_msg"}),
        json.dumps(["task_complete"]),
        "",
        "not json",
        "9" * 5000,
        "[" * 200_000,
    ],
    ids=range(12),
)
def test_nothing_else_in_the_rollout_ends_a_turn(line: str) -> None:
    assert read(line) == []
