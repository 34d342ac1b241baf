"""The scripted agent's switchable bad habits, without a terminal around them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.scripted import ADAPTER
from adapters.scripted_agent import quirks, wording
from adapters.scripted_agent.config import ConfigError
from adapters.scripted_agent.habits import Habits
from adapters.scripted_agent.interface import TrustQuestion
from adapters.scripted_agent.keys import Key, Pasted, Typed
from adapters.scripted_agent.quirks import Joiner, Quirks, Record
from adapters.scripted_agent.screen import View, render
from adapters.scripted_agent.text import guarded, unguarded
from mcp_agent.adapter import Busy, Composer, Ready, Screen
from mcp_agent.tmux.screen import read_screen


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def notes(path: Path) -> list[tuple[str, str]]:
    return [(note["kind"], note["text"]) for note in map(json.loads, path.read_text().splitlines())]


def drawn(view: View) -> Screen:
    """A view as the product reads it from a pane."""
    lines, dim_lines = read_screen(render(view, columns=60, rows=20).rows)
    return Screen(lines, dim_lines=dim_lines)


def test_without_the_variable_there_are_no_quirks() -> None:
    assert quirks.load({}) == quirks.load({quirks.VARIABLE: ""}) == Quirks()


def test_quirks_are_named_in_one_variable() -> None:
    assert quirks.load({quirks.VARIABLE: '{"ticks": true, "exit_status": 7}'}) == Quirks(ticks=True, exit_status=7)


@pytest.mark.parametrize("text", ["{", "[1]", "7", '{"unheard of": 1}'])
def test_a_variable_that_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match=quirks.VARIABLE):
        quirks.load({quirks.VARIABLE: text})


def test_an_enter_soon_after_other_input_is_a_new_line_and_a_later_one_is_not() -> None:
    joiner = Joiner(0.08)

    assert joiner.join(Key.ENTER, now_seconds=0.0) is Key.ENTER
    assert joiner.join(Pasted("x"), now_seconds=1.0) == Pasted("x")
    assert joiner.join(Key.ENTER, now_seconds=1.07) == Typed("\n")
    assert joiner.join(Key.ENTER, now_seconds=1.09) is Key.ENTER


def test_a_command_is_recorded_after_its_popup_took_one_enter(tmp_path: Path) -> None:
    habits = Habits(Quirks(modes=True), Record(str(tmp_path / "record")))

    assert habits.status("/compact", is_working=False) == wording.COMMANDS
    assert (habits.keeps("/compact"), habits.keeps("/compact")) == (True, False)
    assert habits.takes("/compact")
    assert notes(tmp_path / "record") == [("command", "/compact")]
    assert habits.keeps("/compact")


def test_a_leading_exclamation_mark_enters_the_mode_for_a_shell_once(tmp_path: Path) -> None:
    habits = Habits(Quirks(modes=True), Record(str(tmp_path / "record")))
    habits.edited("!l", before="")
    habits.edited("!ls", before="!l")

    assert habits.takes("!ls")
    assert notes(tmp_path / "record") == [("mode", "shell"), ("shell", "!ls")]


@pytest.mark.parametrize("draft", ["/x", "!x"])
def test_without_modes_everything_is_a_prompt(draft: str) -> None:
    habits = Habits(Quirks(), Record(None))

    assert not habits.keeps(draft)
    assert not habits.takes(draft)


def test_an_enter_can_be_eaten() -> None:
    habits = Habits(Quirks(eats_enters=1), Record(None))

    assert (habits.keeps("x"), habits.keeps("x")) == (True, False)


def test_a_submitted_draft_can_stay_on_the_screen_for_a_while() -> None:
    clock = Clock()
    habits = Habits(Quirks(draft_stays_seconds=6), Record(None), clock)
    habits.submitted("hello", draft="hello")

    clock.seconds = 5.9
    assert (habits.drawn(""), habits.drawn("new")) == ("hello", "new")
    clock.seconds = 6.0
    assert habits.drawn("") == ""


def test_the_spinner_counts_from_the_beginning_of_each_turn() -> None:
    clock = Clock()
    habits = Habits(Quirks(ticks=True), Record(None), clock)
    habits.status("", is_working=True)
    clock.seconds = 12.0

    assert "(12s" in habits.status("", is_working=True)
    assert habits.status("", is_working=False) == ""
    assert "(0s" in habits.status("", is_working=True)


@pytest.mark.contract("S5")
def test_the_trust_question_can_be_turned_round() -> None:
    question = TrustQuestion("/work", yes_first=True)
    question.press(Key.ENTER)

    assert question.answer is True


@pytest.mark.contract("I1")
def test_words_that_are_only_suggested_are_no_draft() -> None:
    assert ADAPTER.composer(drawn(View(ghost="deploy to prod"))) == Composer("")
    assert ADAPTER.composer(drawn(View(draft="mine", ghost="deploy to prod"))) == Composer("mine")


@pytest.mark.contract("S3")
def test_rows_around_the_composer_change_nothing_of_what_it_says() -> None:
    rows = ("? for shortcuts", "esc to interrupt")

    assert list(ADAPTER.read(drawn(View(more_footer=rows)))) == [Ready()]
    assert list(ADAPTER.read(drawn(View(status="✻ Working… (3s)", footer=wording.WORKING, more_footer=rows)))) == [
        Busy()
    ]


@pytest.mark.contract("I3")
@given(st.text(max_size=20) | st.from_regex(r"\A *[/!#@].{0,5}", fullmatch=True))
def test_a_guarded_text_begins_no_mode_and_comes_back_as_it_was(text: str) -> None:
    assert not guarded(text).startswith(("/", "!", "#", "@"))
    assert unguarded(guarded(text)) == text
