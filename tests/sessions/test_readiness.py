"""The prompt-readiness clock: what is activity, and when a bound has passed."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.sessions.starting.readiness import ReadinessClock, content

INACTIVITY = timedelta(minutes=5)
ABSOLUTE = timedelta(minutes=90)

pytestmark = pytest.mark.contract("S4")


def clock(absolute: timedelta | None = None) -> ReadinessClock:
    return ReadinessClock(INACTIVITY, absolute, 0.0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("⠋ Connecting", "⠙ Connecting"),
        ("✻ Working… (59s · 900 tokens)", "✶ Working… (1m 0s · 1.2k tokens)"),
        ("| Loading.", "/ Loading..."),
        ("It is 12:59:59", "It is 13:00:00"),
        ("Downloading ███░░░ 51%", "Downloading ██████ 100%"),
        ("● Starting", "○ Starting"),
        ("a", "   a"),
    ],
)
def test_a_spinner_a_counter_or_a_clock_is_no_activity(before: str, after: str) -> None:
    assert content([before]) == content([after])


@pytest.mark.parametrize(
    ("before", "after"),
    [("Connecting", "Connected"), ("> ", "❯ "), ("- [ ] one", "- [x] one"), ("", "Welcome"), ("✗ mcp", "✓ mcp")],
)
def test_a_change_of_words_or_marks_is_activity(before: str, after: str) -> None:
    assert content([before]) != content([after])


@given(st.text("abc ✻", max_size=20), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_number_never_counts_whatever_stands_around_it(words: str, one: int, other: int) -> None:
    assert content([f"{words} {one} {words}"]) == content([f"{words} {other} {words}"])


def test_new_content_restarts_the_inactivity_bound() -> None:
    ready = clock()
    ready.saw(["Welcome"], now_seconds=299)

    assert ready.passed(now_seconds=598.9) is None
    assert ready.passed(now_seconds=599) == ("inactivity", INACTIVITY)


def test_two_frames_that_alternate_do_not_hold_the_bound_open() -> None:
    ready = clock()
    for second in range(400):
        ready.saw(["Press a key" if second % 2 else "Please wait"], now_seconds=second)

    assert ready.passed(now_seconds=400) == ("inactivity", INACTIVITY)


def test_a_handled_dialog_is_activity() -> None:
    ready = clock()
    ready.handled_dialog(now_seconds=200)

    assert ready.passed(now_seconds=499) is None
    assert ready.passed(now_seconds=500) == ("inactivity", INACTIVITY)


def test_the_absolute_bound_passes_however_much_goes_on() -> None:
    ready = clock(ABSOLUTE)
    for minute in range(90):
        ready.saw(["x" * minute], now_seconds=minute * 60)

    assert ready.passed(now_seconds=5399) is None
    assert ready.passed(now_seconds=5400) == ("absolute", ABSOLUTE)


def test_what_remains_is_the_nearer_bound() -> None:
    ready = clock(ABSOLUTE)

    assert ready.remaining(now_seconds=0) == INACTIVITY
    ready.saw(["Welcome"], now_seconds=5390)
    assert ready.remaining(now_seconds=5390) == timedelta(seconds=10)
    assert clock().remaining(now_seconds=301) < timedelta(0)
