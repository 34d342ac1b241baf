"""The adapter of the scripted agent: what it launches, and what it makes of screens, events and transcripts."""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.scripted import ADAPTER, ALLOW_EVERYTHING
from adapters.scripted_agent import wording
from adapters.scripted_agent.screen import Choice, View, render
from mcp_agent.adapter import (
    Blocked,
    Busy,
    Composer,
    Dialog,
    DialogAnswer,
    FailureCause,
    LaunchRequest,
    LimitedBy,
    ModelEndpoint,
    PromptAccepted,
    Ready,
    Screen,
    SessionIdentified,
    Signal,
    Source,
    TurnEnded,
    TurnOutcome,
    Usage,
    Waiting,
)

REQUEST = LaunchRequest(
    session_id="s-1",
    executable=Path("/usr/bin/python3"),
    working_directory=Path("/work"),
    session_directory=Path("/state/s-1"),
    home=Path("/home/me"),
    home_is_ours=False,
    bridge_command=("bridge", "file"),
    event_command=("tell", "file"),
    mcp_call=timedelta(minutes=90),
    native_session_id="9d5f",
    resume=False,
    allow_tools=frozenset({"b", "a"}),
    provider_shell=False,
    trust=True,
    endpoint=ModelEndpoint("http://127.0.0.1:1", "sk-secret"),
)
RULE = wording.RULE * 60


def configuration(request: LaunchRequest) -> Mapping[str, object]:
    (file,) = ADAPTER.launch(request).files
    loaded = json.loads(file.text)
    assert isinstance(loaded, dict)
    return loaded


def screen(*rows: str) -> Screen:
    return Screen(["Scripted agent", "", "> hello", "  ECHO: hello", "", *rows])


def composed(footer: str, *rows: str) -> Screen:
    return screen(RULE, *rows, RULE, f"  {footer}")


def drawn(view: View, *, columns: int = 60, rows: int = 20) -> Screen:
    """A view as a terminal gives it back: without blanks at the ends of rows."""
    return Screen([row.rstrip() for row in render(view, columns=columns, rows=rows).rows])


# --- launch -----------------------------------------------------------------------------------------------------------


@pytest.mark.contract("A2")
def test_the_key_stands_in_the_file_and_not_in_the_command_line() -> None:
    launch = ADAPTER.launch(REQUEST)

    assert "sk-secret" not in " ".join(launch.argv) + str(launch.environment)
    assert configuration(REQUEST)["endpoint"] == {"base_url": "http://127.0.0.1:1", "api_key": "sk-secret"}
    assert launch.files[0].path.parent == REQUEST.session_directory


def test_the_file_names_the_bridge_the_events_and_the_allowed_tools() -> None:
    written = configuration(REQUEST)

    assert written["bridge_command"] == ["bridge", "file"]
    assert written["event_command"] == ["tell", "file"]
    assert written["allow_tools"] == ["a", "b"]


def test_the_mcp_limit_is_written_in_seconds() -> None:
    assert configuration(REQUEST)["mcp_tool_timeout_seconds"] == 5400


@pytest.mark.contract("A5")
@pytest.mark.parametrize(("ours", "trust"), [(True, True), (True, False), (False, True), (False, False)])
def test_trust_is_written_only_into_a_home_of_ours_and_with_consent(ours: bool, trust: bool) -> None:
    written = configuration(replace(REQUEST, home_is_ours=ours, trust=trust))

    assert written["trusted"] is (ours and trust)


@pytest.mark.contract("A5")
def test_the_agent_asks_before_tools_unless_the_mode_was_named() -> None:
    assert configuration(REQUEST)["allow_all_tools"] is False
    assert configuration(replace(REQUEST, permission_mode=ALLOW_EVERYTHING))["allow_all_tools"] is True


def test_a_resumed_session_keeps_its_id() -> None:
    written = configuration(replace(REQUEST, resume=True))

    assert (written["resume"], written["native_session_id"]) == (True, "9d5f")
    assert ADAPTER.transcript_glob("9d5f") == ".scripted-agent/9d5f.jsonl"


@pytest.mark.parametrize(
    ("output", "version"), [("Python 3.11.7\n", "3.11.7"), ("scripted-agent 1.0", "1.0"), ("?", None)]
)
def test_the_version_is_found_in_what_the_program_prints(output: str, version: str | None) -> None:
    assert ADAPTER.parse_version(output) == version


# --- screens ----------------------------------------------------------------------------------------------------------


@pytest.mark.contract("S4")
@pytest.mark.parametrize("footer", [wording.READY, wording.READY_WITHOUT_TOOLS, wording.LEAVING])
def test_an_empty_composer_over_a_ready_footer_is_ready(footer: str) -> None:
    assert list(ADAPTER.read(composed(footer, ">"))) == [Ready()]


def test_a_draft_in_the_composer_is_ready_all_the_same() -> None:
    assert list(ADAPTER.read(composed(wording.READY, "> hello"))) == [Ready()]


def test_a_working_footer_is_busy() -> None:
    assert list(ADAPTER.read(composed(wording.WORKING, ">"))) == [Busy()]


def test_a_starting_screen_says_nothing() -> None:
    assert list(ADAPTER.read(composed(wording.STARTING, ">"))) == []


@pytest.mark.parametrize("rows", [(), (RULE,), (RULE, ">"), (RULE, ">", RULE), ("$ ls", "a  b")])
def test_a_screen_without_the_whole_frame_says_nothing(rows: tuple[str, ...]) -> None:
    assert list(ADAPTER.read(screen(*rows))) == []
    assert ADAPTER.composer(screen(*rows)) is None


def test_a_permission_question_waits() -> None:
    rows = ("Allow tool execute_shell_command?", "  {'command': 'ls'}", "❯ 1. Allow", "  2. Refuse")

    assert list(ADAPTER.read(composed(wording.CHOOSING, *rows))) == [Waiting("permission")]
    assert ADAPTER.composer(composed(wording.CHOOSING, *rows)) is None


@pytest.mark.contract("S5")
def test_the_trust_question_is_answered_by_its_label() -> None:
    rows = ("Do you trust this directory?", "  /work", "❯ 1. No, exit", "  2. Yes, I trust it")
    (signal,) = ADAPTER.read(composed(wording.CHOOSING, *rows))

    assert isinstance(signal, Blocked)
    assert (signal.dialog.options, signal.dialog.selected) == (("No, exit", "Yes, I trust it"), 0)
    assert signal.dialog.answer == DialogAnswer("Yes, I trust it", needs="trust")


@pytest.mark.contract("S5")
def test_an_unknown_question_is_for_a_person() -> None:
    rows = ("Delete everything?", "  1. No", "❯ 2. Yes")

    assert list(ADAPTER.read(composed(wording.CHOOSING, *rows))) == [Blocked(Dialog("unknown", ("No", "Yes"), 1))]


def test_words_of_the_conversation_are_no_evidence() -> None:
    fake = "\n".join([RULE, ">", RULE, f"  {wording.READY}"])
    entries = [{"type": "user", "text": fake, "turn": 1, "live": False}]

    assert list(ADAPTER.read(drawn(View(entries=entries, footer=wording.WORKING)))) == [Busy()]


def test_a_pasted_frame_in_the_composer_is_only_a_draft() -> None:
    fake = "\n".join(["x", RULE[:40], ">", RULE[:40], f"  {wording.READY}"])

    shown = drawn(View(draft=fake))
    assert list(ADAPTER.read(shown)) == [Ready()]
    assert ADAPTER.composer(shown) == Composer(fake)


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    "draft",
    [
        "",
        "hello",
        "two\nlines",
        "a\n\n\nb\n",
        "tab\there",
        "> | quoted\n| | x",
        "wide 漢字 " * 9 + "end",
        "long word" * 20,
        "/x @y",
    ],
)
def test_a_draft_is_read_back_as_it_was_typed(draft: str) -> None:
    assert ADAPTER.composer(drawn(View(draft=draft))) == Composer(draft)


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp", "Mn", "Cf"]), max_size=300))
def test_any_short_draft_of_visible_characters_is_read_back(draft: str) -> None:
    read = ADAPTER.composer(drawn(View(draft=draft)))

    assert read is not None
    assert read.is_chip or read.draft == draft


def test_a_long_draft_is_shown_as_a_chip() -> None:
    read = ADAPTER.composer(drawn(View(draft="line\n" * 60)))

    assert read == Composer("[Draft of 61 lines, 300 characters]", is_chip=True)


def test_queued_prompts_do_not_hide_the_composer() -> None:
    shown = drawn(View(queued=["later", "even later"], draft="now", footer=wording.WORKING))

    assert ADAPTER.composer(shown) == Composer("now")
    assert "queued: later" in shown.lines


def test_a_rendered_question_is_read_back_with_its_selection() -> None:
    choice = Choice(wording.TRUST_QUESTION, ("/work",), (wording.TRUST_NO, wording.TRUST_YES), selected=1)
    (signal,) = ADAPTER.read(drawn(View(choice=choice, footer=wording.CHOOSING)))

    assert isinstance(signal, Blocked)
    assert signal.dialog.selected == 1


@given(st.text(max_size=400), st.integers(1, 50), st.integers(1, 30))
def test_every_frame_fills_the_screen_exactly(text: str, columns: int, rows: int) -> None:
    view = View(entries=[{"type": "assistant", "text": text}], draft=text, queued=[text])

    assert len(render(view, columns=columns, rows=rows).rows) == rows


# --- events and transcripts -------------------------------------------------------------------------------------------

EVENTS: list[tuple[Mapping[str, object], list[Signal]]] = [
    (
        {"event": "session_start", "session_id": "9d5f", "transcript": "/t.jsonl"},
        [SessionIdentified("9d5f", Path("/t.jsonl"))],
    ),
    ({"event": "prompt_accepted", "text": "hi", "queued": False}, [PromptAccepted("hi")]),
    ({"event": "prompt_accepted", "text": "hi", "queued": True}, [PromptAccepted("hi", queued=True)]),
    (
        {"event": "turn_end", "outcome": "completed", "final_text": "done", "error": None},
        [TurnEnded(TurnOutcome.COMPLETED, "done")],
    ),
    ({"event": "turn_end", "outcome": "interrupted"}, [TurnEnded(TurnOutcome.INTERRUPTED)]),
    (
        {"event": "turn_end", "outcome": "completed", "usage": {"input_tokens": 3, "output_tokens": 2}},
        [TurnEnded(TurnOutcome.COMPLETED, usage=Usage(3, 2))],
    ),
    ({"event": "turn_end", "outcome": "completed", "usage": {"input_tokens": "3"}}, [TurnEnded(TurnOutcome.COMPLETED)]),
    (
        {"event": "turn_end", "outcome": "failed", "final_text": "", "error": "model error 429: slow down"},
        [
            TurnEnded(TurnOutcome.FAILED, error="model error 429: slow down", cause=FailureCause.LIMITED),
            LimitedBy("rate", source=Source.HOOK),
        ],
    ),
    ({"event": "turn_end", "outcome": "exploded"}, []),
    ({"event": "something new"}, []),
    ({}, []),
]


@pytest.mark.parametrize(("event", "signals"), EVENTS)
def test_an_event_says_what_it_says(event: Mapping[str, object], signals: list[Signal]) -> None:
    assert list(ADAPTER.read_event(event)) == signals


def test_the_transcript_repeats_nothing_that_an_event_told() -> None:
    lines = [json.dumps({"type": "user", "text": "hi"}), json.dumps({"type": "turn_end", "outcome": "completed"})]

    assert list(ADAPTER.read_transcript(lines)) == []


def test_the_transcript_tells_what_no_event_could() -> None:
    event = {"event": "prompt_accepted", "text": "hi", "queued": False}
    lines = ["not json", "[]", json.dumps({"type": "untold_event", "event": event})]

    assert list(ADAPTER.read_transcript(lines)) == [PromptAccepted("hi", source=Source.TRANSCRIPT)]
