"""How every installed adapter must read screens, events and transcripts, and place prompts.

`test_conformance` says how to run this for an adapter of your own.
"""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent import registry
from mcp_agent.adapter import Adapter, Blocked, Composer, Ready, Screen, Source

ADAPTERS = registry.load_all()
TMUX_KEY = re.compile(
    r"^(?:[CMS]-){0,3}(?:[!-~]|Enter|Escape|Tab|BTab|BSpace|Space|Up|Down|Left|Right|Home|End|DC|IC|PageUp|PageDown|F\d+)$"
)
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

each_adapter = pytest.mark.parametrize("adapter", ADAPTERS, ids=[adapter.id for adapter in ADAPTERS])


# --- screens, events, transcripts -------------------------------------------------------------------------------------


@each_adapter
@pytest.mark.contract("S4")
@pytest.mark.parametrize("lines", [(), ("",), ("",) * 36, ("$ ", ""), ("Loading...",)])
def test_a_blank_screen_is_not_ready(adapter: Adapter, lines: tuple[str, ...]) -> None:
    assert list(adapter.read(Screen(lines))) == []
    assert adapter.composer(Screen(lines)) is None


@each_adapter
@pytest.mark.contract("S3", "S5")
@given(rows=ROWS, title=st.text(max_size=8))
def test_any_screen_can_be_read(adapter: Adapter, rows: list[str], title: str) -> None:
    screen = Screen(rows, title)
    signals, composer = adapter.read(screen), adapter.composer(screen)

    assert all(signal.source is Source.SCREEN for signal in signals)
    assert composer is not None or not any(isinstance(signal, Ready) for signal in signals)
    assert composer is None or isinstance(composer, Composer)
    for signal in signals:
        if isinstance(signal, Blocked) and (answer := signal.dialog.answer):
            assert answer.label in signal.dialog.options
            assert 0 <= signal.dialog.selected < len(signal.dialog.options)
            assert answer.needs != "nothing" or "trust" not in signal.dialog.name


@each_adapter
@given(event=st.dictionaries(EVENT_KEYS | st.text(max_size=8), VALUES, max_size=5))
def test_any_event_can_be_read(adapter: Adapter, event: dict[str, object]) -> None:
    assert all(signal.source is not Source.SCREEN for signal in adapter.read_event(event))


@each_adapter
@given(lines=st.lists(st.text(max_size=40), max_size=4))
def test_any_transcript_can_be_read(adapter: Adapter, lines: list[str]) -> None:
    assert list(adapter.read_transcript(lines)) == []


@each_adapter
@pytest.mark.parametrize(
    "line", ["[" * 200_000, '{"a":' * 100_000, "9" * 5000, '{"type":"user","message":{"content":[null]}}']
)
def test_a_monstrous_transcript_line_means_nothing(adapter: Adapter, line: str) -> None:
    assert list(adapter.read_transcript([line])) == []


@each_adapter
def test_the_transcript_stands_below_the_clis_home(adapter: Adapter) -> None:
    pattern = adapter.transcript_glob("2f7c6c0e")

    if pattern is not None:
        assert not Path(pattern).is_absolute()
        assert ".." not in Path(pattern).parts
        assert "2f7c6c0e" in pattern


# --- input ------------------------------------------------------------------------------------------------------------


@each_adapter
@pytest.mark.contract("I3")
@given(
    text=st.text(max_size=40)
    | st.builds("".join, st.lists(st.sampled_from([*"/!#@-;\\ \n\t", "exit", "help"]), max_size=6))
)
def test_a_guarded_text_keeps_every_character_in_order(adapter: Adapter, text: str) -> None:
    guarded = adapter.guard(text)
    rest = iter(guarded)

    assert all(character in rest for character in text)
    assert len(guarded) <= len(text) + 2


@each_adapter
@pytest.mark.contract("I3")
@pytest.mark.parametrize("text", ["hello", "two\nlines", "what is 1/2?", "mail me@home", "wow!", "字 é 🙂"])
def test_a_plain_prompt_is_not_guarded(adapter: Adapter, text: str) -> None:
    assert adapter.guard(text) == text


@each_adapter
@pytest.mark.contract("S5", "I1")
def test_its_keys_are_keys_that_tmux_knows(adapter: Adapter) -> None:
    sets = (
        adapter.submit_keys,
        adapter.interrupt_keys,
        adapter.clear_keys,
        adapter.next_option_keys,
        adapter.confirm_keys,
    )

    for keys in sets:
        assert keys
        assert all(TMUX_KEY.match(key) for key in keys)
