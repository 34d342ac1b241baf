"""What the adapter makes of hook inputs and transcript rows, as version 2.1.332 writes them."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from adapters.claude_code import ADAPTER
from mcp_agent.adapter import (
    FailureCause,
    LimitedBy,
    PromptAccepted,
    SessionIdentified,
    Signal,
    Source,
    TranscriptAt,
    TurnEnded,
    TurnOutcome,
    Usage,
    UsageReported,
)

COMMON = {"session_id": "1cf60c73", "transcript_path": "/home/me/.claude/projects/-srv/1cf60c73.jsonl", "cwd": "/srv"}
INTERRUPT = "[Request interrupted by user for tool use]"


def heard(name: object, **fields: object) -> list[Signal]:
    return list(ADAPTER.read_event({**COMMON, "hook_event_name": name, **fields}))


def row(text: object, **fields: object) -> str:
    content = [{"type": "text", "text": text}]
    return json.dumps({"type": "user", "message": {"role": "user", "content": content}, **fields})


def read(*lines: str) -> list[Signal]:
    """What rows say besides where the transcript is."""
    return [signal for signal in ADAPTER.read_transcript(lines) if not isinstance(signal, TranscriptAt)]


def test_a_started_session_tells_its_id_and_transcript() -> None:
    assert heard("SessionStart", source="startup", model="m") == [
        SessionIdentified("1cf60c73", Path(COMMON["transcript_path"]))
    ]


def test_a_started_session_without_a_transcript_names_none() -> None:
    assert heard("SessionStart", transcript_path=None) == [SessionIdentified("1cf60c73")]


@pytest.mark.contract("I2", "I4")
def test_a_prompt_is_accepted_with_its_text() -> None:
    fields = {"prompt_id": "p", "permission_mode": "default"}

    assert heard("UserPromptSubmit", prompt="live line one\n  second line", **fields) == [
        PromptAccepted("live line one\n  second line", native_turn_id="p")
    ]


@pytest.mark.contract("I2", "I3")
@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ('\n\n<pasted_content id="f076">\nl0\nl1\n\nl3\n</pasted_content id="f076">\n', "l0\nl1\n\nl3"),
        ('see\n\n<pasted_content id="1">\na\n</pasted_content id="1">\nplease', "seeaplease"),
        (
            '<pasted_content id="1">\na\n</pasted_content id="1">',
            '<pasted_content id="1">\na\n</pasted_content id="1">',
        ),
        (
            '\n\n<pasted_content id="a1">\nx </pasted_content id="b2"> y\n</pasted_content id="a1">\n',
            'x </pasted_content id="b2"> y',
        ),
        ('\n\n<pasted_content id="a">\nno end', '\n\n<pasted_content id="a">\nno end'),
    ],
)
def test_a_long_paste_is_accepted_as_the_text_that_was_pasted(prompt: str, text: str) -> None:
    assert heard("UserPromptSubmit", prompt=prompt) == [PromptAccepted(text)]


def test_a_completed_turn_ends_with_its_last_message() -> None:
    fields = {"stop_hook_active": False, "background_tasks": []}

    assert heard("Stop", last_assistant_message="done", **fields) == [TurnEnded(TurnOutcome.COMPLETED, "done")]


def test_a_completed_turn_without_words_still_ends() -> None:
    assert heard("Stop") == [TurnEnded(TurnOutcome.COMPLETED)]


@pytest.mark.contract("X3")
@pytest.mark.parametrize(
    ("error", "cause", "limit"),
    [
        ("authentication_failed", FailureCause.LOGIN, None),
        ("billing_error", FailureCause.LIMITED, "usage"),
        ("rate_limit", FailureCause.LIMITED, "rate"),
        ("server_error", FailureCause.LIMITED, None),
        ("invalid_request", FailureCause.OTHER, None),
        ("something new", FailureCause.OTHER, None),
    ],
)
def test_a_failed_turn_says_what_its_reader_can_do(error: str, cause: FailureCause, limit: str | None) -> None:
    ended, *more = heard("StopFailure", error=error, last_assistant_message="API Error: 500 x")

    assert ended == TurnEnded(TurnOutcome.FAILED, error=f"{error}: API Error: 500 x", cause=cause)
    assert [signal.kind for signal in more if isinstance(signal, LimitedBy)] == ([limit] if limit else [])
    assert all(isinstance(signal, LimitedBy) and signal.source is Source.HOOK for signal in more)


def test_a_failed_turn_without_any_reason_still_fails() -> None:
    assert heard("StopFailure") == [TurnEnded(TurnOutcome.FAILED, error="unknown error")]


GARBAGE: list[Mapping[str, object]] = [
    {},
    {"hook_event_name": None},
    {"hook_event_name": ["Stop"]},
    {"hook_event_name": "SubagentStop", "last_assistant_message": "x"},
    {"hook_event_name": "SessionEnd", "reason": "other"},
    {"hook_event_name": "SessionStart"},
    {"hook_event_name": "SessionStart", "session_id": 7, "transcript_path": {}},
    {"hook_event_name": "UserPromptSubmit"},
    {"hook_event_name": "UserPromptSubmit", "prompt": ["a"]},
]


@pytest.mark.parametrize("event", GARBAGE)
def test_an_unknown_or_broken_event_means_nothing(event: Mapping[str, object]) -> None:
    assert list(ADAPTER.read_event(event)) == []


def test_fields_of_a_wrong_type_are_left_out() -> None:
    assert heard("Stop", last_assistant_message=7) == [TurnEnded(TurnOutcome.COMPLETED)]
    assert heard("StopFailure", error={}, last_assistant_message=[]) == [
        TurnEnded(TurnOutcome.FAILED, error="unknown error")
    ]


@pytest.mark.parametrize("text", [INTERRUPT, "[Request interrupted by user]"])
def test_an_interrupt_is_told_by_the_transcript(text: str) -> None:
    told = read(row("hello"), row(text, rowSource="harness"))

    assert told == [TurnEnded(TurnOutcome.INTERRUPTED, source=Source.TRANSCRIPT)]


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    "line",
    [
        row(INTERRUPT),
        row(f"{INTERRUPT} and so on"),
        row(f"{INTERRUPT} and so on", rowSource="harness"),
        row(INTERRUPT, rowSource="person"),
        row(INTERRUPT, rowSource="harness", isSidechain=True),
        row(INTERRUPT, rowSource="harness", type="assistant"),
        row(7, rowSource="harness"),
        json.dumps({"type": "user", "rowSource": "harness", "message": INTERRUPT}),
        json.dumps({"type": "user", "rowSource": "harness", "message": {"content": 7}}),
        json.dumps({"type": "user", "message": {"content": INTERRUPT}}),
        json.dumps([INTERRUPT]),
        "",
        "not json",
        INTERRUPT,
        "9" * 5000,
        "[" * 200_000,
    ],
    ids=range(16),
)
def test_nothing_else_in_the_transcript_ends_a_turn(line: str) -> None:
    assert read(line) == []


def test_a_queued_prompt_that_starts_a_turn_of_its_own_is_an_accepted_prompt() -> None:
    row = {"type": "user", "message": {"role": "user", "content": "queued one"}, "promptSource": "queued"}
    assert read(json.dumps(row)) == [PromptAccepted("queued one", source=Source.TRANSCRIPT)]


def test_a_typed_prompt_in_the_transcript_is_left_to_the_hooks() -> None:
    row = {"type": "user", "message": {"role": "user", "content": "typed"}, "promptSource": "typed"}
    assert read(json.dumps(row)) == []


def answer(message_id: object = "msg_1", usage: object = None) -> str:
    usage = usage or {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 3}
    return json.dumps({"type": "assistant", "message": {"id": message_id, "usage": usage, "content": []}})


def test_what_an_answer_cost_is_told_under_the_answers_own_id() -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 3, "output_tokens": 5}

    assert read(answer(usage=usage)) == [UsageReported("msg_1", Usage(33, 5))]
    assert read(answer()) == [UsageReported("msg_1", Usage(33, 0))]


@pytest.mark.parametrize(
    "line",
    [
        answer(usage={"input_tokens": 0, "output_tokens": 0}),
        answer(usage={"input_tokens": "10", "output_tokens": -5}),
        answer(usage=[1]),
        answer(7),
        json.dumps({"type": "assistant", "message": "hello"}),
        json.dumps({"type": "user", "message": {"id": "msg_1", "usage": {"output_tokens": 5}}}),
    ],
    ids=range(6),
)
def test_an_answer_without_a_cost_or_an_id_tells_none(line: str) -> None:
    assert read(line) == []
