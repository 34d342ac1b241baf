"""What Cursor's hooks mean, in the shapes of the vendor's page."""

from pathlib import Path

import pytest

from adapters.cursor_cli import ADAPTER
from mcp_agent.adapter import (
    Answered,
    FailureCause,
    LimitedBy,
    PromptAccepted,
    SessionIdentified,
    Source,
    TurnEnded,
    TurnOutcome,
)

COMMON = {
    "conversation_id": "c-1",
    "generation_id": "g-1",
    "model": "composer-2.5",
    "cursor_version": "2026.09.28",
    "workspace_roots": ["/srv/project"],
    "transcript_path": None,
}

pytestmark = pytest.mark.contract("S3", "X3")


def read(name: str, **fields: object) -> list[object]:
    return list(ADAPTER.read_event({**COMMON, "hook_event_name": name, **fields}))


def test_a_start_tells_the_conversation() -> None:
    assert read("sessionStart") == [SessionIdentified("c-1")]
    assert read("sessionStart", transcript_path="/t.jsonl") == [SessionIdentified("c-1", Path("/t.jsonl"))]


def test_a_submitted_prompt_begins_the_turn_of_its_generation() -> None:
    prompt = read("beforeSubmitPrompt", prompt="do it\n", attachments=[])

    assert prompt == [SessionIdentified("c-1"), PromptAccepted("do it\n", native_turn_id="g-1")]


def test_an_answer_comes_before_the_end_that_does_not_repeat_it() -> None:
    assert read("afterAgentResponse", text="done") == [Answered("done")]
    assert read("stop", status="completed", loop_count=0) == [TurnEnded(TurnOutcome.COMPLETED, native_turn_id="g-1")]


def test_an_abort_is_an_interrupt() -> None:
    assert read("stop", status="aborted") == [TurnEnded(TurnOutcome.INTERRUPTED, native_turn_id="g-1")]


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ("model error 401: who are you", FailureCause.LOGIN),
        ("usage limit reached", FailureCause.LIMITED),
        ("model error 503: later", FailureCause.LIMITED),
        ("the disk is full", FailureCause.OTHER),
    ],
)
def test_a_failed_turn_says_why(error: str, cause: FailureCause) -> None:
    (ended,) = read("stop", status="error", error_message=error)

    assert ended == TurnEnded(TurnOutcome.FAILED, error=error, cause=cause, native_turn_id="g-1")


def test_a_rate_limit_is_one() -> None:
    _, limited = read("stop", status="error", error_message="429: slow down")

    assert limited == LimitedBy("rate", source=Source.HOOK)


@pytest.mark.parametrize("fields", [{}, {"status": "else"}, {"status": 3}])
def test_an_end_of_an_unknown_kind_means_nothing(fields: dict[str, object]) -> None:
    assert read("stop", **fields) == []
    assert read("subagentStop", status="completed") == []
