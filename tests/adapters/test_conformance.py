"""Every installed adapter answers the suite's questions, and those that take any value at all.

The adapters are those that the entry-point group `mcp_agent.adapters` names, so one of yours is asked as soon as it is
installed beside this package: `pytest tests/adapters/test_conformance.py -k <its id>`. Its CLI is asked by
`mcp-agent test adapter-conformance --provider <its id>`.
"""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent import registry
from mcp_agent.adapter import Adapter, Screen
from mcp_agent.scenarios.conformance.capabilities import lacking
from mcp_agent.scenarios.conformance.described import identity, launching, limits, reading
from mcp_agent.scenarios.conformance.described.launches import launches
from mcp_agent.scenarios.conformance.question import Describes, Question

ADAPTERS = registry.load_all()
LIMITS = st.timedeltas(min_value=timedelta(seconds=30), max_value=timedelta(hours=24))
ROWS = st.lists(
    st.text(max_size=12)
    | st.sampled_from(
        ["─" * 40, "▔" * 40, "❯", "› x", "❯ 1. Yes", "   2. No", " Enter to confirm · Esc to cancel", "!", "│ > │"]
    ),
    max_size=12,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
EVENT_KEYS = st.sampled_from(["hook_event_name", "event", "type", "session_id", "transcript_path", "prompt", "message"])
TEXTS = st.text(max_size=40) | st.builds(
    "".join, st.lists(st.sampled_from([*"/!#@-;\\ \n\t", "exit", "help"]), max_size=6)
)

each_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=[adapter.id for adapter in ADAPTERS])


def each_question(questions: Sequence[Question[Describes]]) -> pytest.MarkDecorator:
    """Every question to every adapter that lacks nothing which it needs."""
    pairs = [(adapter, question) for adapter in ADAPTERS for question in questions]
    asked = [pair for pair in pairs if pair[1].needs not in lacking(pair[0])]
    ids = [f"{adapter.id}: {question.name}" for adapter, question in asked]
    return pytest.mark.parametrize(("adapter", "question"), asked, ids=ids)


def test_some_adapter_is_installed() -> None:
    assert ADAPTERS


@pytest.mark.contract("I4")
@each_question(identity.QUESTIONS)
def test_it_says_who_it_is_and_what_it_can(adapter: Adapter, question: Question[Describes]) -> None:
    question.ask(adapter)


@pytest.mark.contract("A2", "A3", "A4", "A5", "S2", "S7")
@each_question(launching.QUESTIONS)
def test_its_launch_is_clean(adapter: Adapter, question: Question[Describes]) -> None:
    question.ask(adapter)


@pytest.mark.contract("A5", "S4", "T3", "T5", "T10")
@each_question(limits.QUESTIONS)
def test_its_limits_and_modes_are_told_as_they_are(adapter: Adapter, question: Question[Describes]) -> None:
    question.ask(adapter)


@pytest.mark.contract("I1", "I3", "S4", "S5")
@each_question(reading.QUESTIONS)
def test_it_reads_and_types_nothing_by_mistake(adapter: Adapter, question: Question[Describes]) -> None:
    question.ask(adapter)


@each_adapter
@pytest.mark.contract("A4")
def test_describing_a_launch_touches_no_file(adapter: Adapter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert [*launches(adapter)]
    assert list(tmp_path.iterdir()) == []


@each_adapter
@pytest.mark.contract("T3", "T11")
@given(limit=LIMITS)
def test_any_mcp_limit_is_an_exact_division(adapter: Adapter, limit: timedelta) -> None:
    limits.check_exact_division(adapter, limit)


@each_adapter
@pytest.mark.contract("S3", "S5")
@given(rows=ROWS, title=st.text(max_size=8))
def test_any_screen_can_be_read(adapter: Adapter, rows: list[str], title: str) -> None:
    reading.check_screen(adapter, Screen(rows, title))


@each_adapter
@given(event=st.dictionaries(EVENT_KEYS | st.text(max_size=8), VALUES, max_size=5))
def test_any_event_can_be_read(adapter: Adapter, event: dict[str, object]) -> None:
    reading.check_event(adapter, event)


@each_adapter
@given(lines=st.lists(st.text(max_size=40), max_size=4))
def test_any_transcript_can_be_read(adapter: Adapter, lines: list[str]) -> None:
    assert list(adapter.read_transcript(lines)) == []


@each_adapter
@pytest.mark.contract("I3")
@given(text=TEXTS)
def test_any_text_is_guarded_without_a_loss(adapter: Adapter, text: str) -> None:
    reading.check_guard(adapter, text)
