"""Which turn hooks and rows tell of, and the end that stands in for a lost hook, as version 2.1.332 writes them."""

import json

import pytest

from adapters.claude_code import ADAPTER
from mcp_agent.adapter import (
    FailureCause,
    PromptAccepted,
    Signal,
    Source,
    TranscriptAt,
    TurnEnded,
    TurnOutcome,
)
from mcp_agent.sessions.turn_order import TurnOrder
from mcp_agent.sessions.turns import Turns

pytestmark = pytest.mark.contract("S3", "I2")

INTERRUPT = "[Request interrupted by user for tool use]"
DURATION = json.dumps({"type": "system", "subtype": "turn_duration", "durationMs": 8364, "isSidechain": False})


def prompt(text: str, turn: object, **fields: object) -> str:
    row = {"type": "user", "promptId": turn, "promptSource": "typed", "isSidechain": False}
    return json.dumps({**row, "message": {"role": "user", "content": text}, **fields})


def result(turn: str) -> str:
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "SLEPT"}]}
    return json.dumps({"type": "user", "promptId": turn, "message": {"role": "user", "content": [block]}})


def answer(*blocks: dict[str, object], **fields: object) -> str:
    return json.dumps({"type": "assistant", "message": {"id": "m", "content": [*blocks]}, **fields})


def text(words: str) -> dict[str, object]:
    return {"type": "text", "text": words}


CALL: dict[str, object] = {"type": "tool_use", "id": "toolu_1", "name": "x", "input": {}}


def read(*lines: str) -> list[Signal]:
    return list(ADAPTER.read_transcript(lines))


def hook(name: str, turn: str, **fields: object) -> list[Signal]:
    return list(ADAPTER.read_event({"hook_event_name": name, "prompt_id": turn, **fields}))


def turns_of(*batches: list[Signal]) -> list[tuple[str, str, object]]:
    """Prompt, final text and where the end was told, turn by turn."""
    turns, order = Turns(), TurnOrder()
    for signal in (signal for batch in batches for signal in batch):
        for due in order.arrange(signal, turns):
            match due:
                case PromptAccepted():
                    turns.accept(due.text, native_id=due.native_turn_id)
                case TurnEnded():
                    turns.end(due)
    return [
        (turn.prompt, turn.ended.final_text if turn.ended else "", turn.ended and turn.ended.source)
        for turn in turns.all
    ]


def test_every_hook_names_its_turn() -> None:
    (began,), (stopped,) = hook("UserPromptSubmit", "1", prompt="a"), hook("Stop", "1", last_assistant_message="b")
    failed = hook("StopFailure", "1", error="server_error")[0]

    assert isinstance(began, PromptAccepted)
    assert isinstance(stopped, TurnEnded)
    assert isinstance(failed, TurnEnded)
    assert {began.native_turn_id, stopped.native_turn_id, failed.native_turn_id} == {"1"}


def test_an_interrupt_and_a_queued_prompt_name_their_turns() -> None:
    interrupt = prompt(INTERRUPT, "1", rowSource="harness", promptSource=None)

    assert TurnEnded(TurnOutcome.INTERRUPTED, source=Source.TRANSCRIPT, native_turn_id="1") in read(interrupt)
    assert PromptAccepted("q", source=Source.TRANSCRIPT, native_turn_id="2") in read(
        prompt("q", "2", promptSource="queued")
    )


def test_a_turn_whose_end_no_hook_told_ends_with_the_transcripts_last_answer() -> None:
    began = hook("UserPromptSubmit", "1", prompt="a")
    early, late = read(prompt("a", "1"), answer(CALL)), read(result("1"), answer(text(" done \n")), DURATION)

    assert turns_of(began, early, late) == [("a", "done", Source.TRANSCRIPT)]


def test_a_hook_that_is_heard_first_ends_its_turn_and_the_row_after_it_no_other() -> None:
    first = hook("UserPromptSubmit", "1", prompt="a")
    rows = read(prompt("a", "1"), answer(text("one")))
    stop, second = hook("Stop", "1", last_assistant_message="one"), hook("UserPromptSubmit", "2", prompt="b")

    assert turns_of(first, rows, stop, second, read(DURATION)) == [("a", "one", Source.HOOK), ("b", "", None)]


def test_a_hook_that_comes_too_late_ends_no_other_turn() -> None:
    first, rows = hook("UserPromptSubmit", "1", prompt="a"), read(prompt("a", "1"), answer(text("one")), DURATION)
    second, stop = hook("UserPromptSubmit", "2", prompt="b"), hook("Stop", "1", last_assistant_message="one")

    assert turns_of(first, rows, second, stop) == [("a", "one", Source.TRANSCRIPT), ("b", "", None)]


def test_queued_prompts_become_a_turn_of_their_own_though_no_hook_is_heard() -> None:
    began = [*hook("UserPromptSubmit", "1", prompt="a"), *hook("UserPromptSubmit", "1", prompt="q")]
    rows = read(
        prompt("a", "1"),
        answer(text("one")),
        DURATION,
        prompt("q", "2", promptSource="queued"),
        answer(text("two")),
        DURATION,
    )

    assert [turn[:2] for turn in turns_of(began, rows)] == [("a", "one"), ("q", "two")]


def test_words_before_a_last_tool_call_are_no_final_text() -> None:
    rows = read(prompt("a", "1"), answer(text("I will look")), answer(CALL), result("1"), answer(), DURATION)

    assert turns_of(hook("UserPromptSubmit", "1", prompt="a"), rows) == [("a", "", Source.TRANSCRIPT)]


def error_row(error: str, **fields: object) -> str:
    return answer(text("API Error: x"), isApiErrorMessage=True, error=error, **fields)


def test_a_turn_whose_failure_no_hook_told_fails_with_the_transcripts_reason() -> None:
    (ended,) = read(error_row("server_error"))
    began, rows = hook("UserPromptSubmit", "1", prompt="a"), read(prompt("a", "1"), error_row("rate_limit"))

    assert ended == TurnEnded(
        TurnOutcome.FAILED,
        error="server_error: API Error: x",
        cause=FailureCause.LIMITED,
        source=Source.TRANSCRIPT,
    )
    assert turns_of(began, rows) == [("a", "", Source.TRANSCRIPT)]


def test_an_error_that_the_turn_may_go_on_after_does_not_end_it() -> None:
    assert read(error_row("invalid_request"), error_row("server_error", isSidechain=True)) == []


@pytest.mark.parametrize(
    "row",
    [
        prompt("x", "2", rowSource="local"),
        prompt("x", "2", isSidechain=True),
        prompt("x", 7),
        prompt("x", ""),
        answer(text("API Error: 500"), isApiErrorMessage=True),
        answer(text("of a subagent"), isSidechain=True),
        json.dumps({"type": "system", "subtype": "stop_hook_summary"}),
        json.dumps({"type": "system", "subtype": "turn_duration", "isSidechain": True}),
        json.dumps({"type": "user", "subtype": "turn_duration"}),
        json.dumps({"type": "assistant", "message": "x"}),
    ],
    ids=range(10),
)
def test_no_other_row_moves_the_transcript_or_ends_a_turn(row: str) -> None:
    assert not [signal for signal in read(row) if isinstance(signal, TranscriptAt | TurnEnded)]
