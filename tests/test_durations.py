"""Durations in and out of text."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.durations import LONGEST, format_duration, parse_duration

pytestmark = pytest.mark.contract("T2", "T11")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90m", 5400),
        ("1h30m", 5400),
        ("5400s", 5400),
        ("1.5h", 5400),
        (".5m", 30),
        ("1.s", 1),
        ("100ms", 0.1),
        ("2us", 0.000002),
        ("2µs", 0.000002),
        ("3000ns", 0.000003),
        ("30m1h", 5400),
        ("1m1m", 120),
        ("+5s", 5),
        ("-1s", -1),
        ("-1h30m", -5400),
        ("0", 0),
        ("0s", 0),
    ],
)
def test_a_go_style_text_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("90", "no unit; write 90s or 90m"),
        ("-5", "no unit"),
        ("1.5", "no unit"),
        ("", "is empty"),
        ("   ", "is empty"),
        ("inf", "is no duration"),
        ("nan", "is no duration"),
        ("infs", "is no duration"),
        ("1e9s", "is no duration"),
        ("1e9999", "is no duration"),
        ("2d", "is no duration"),
        ("90 m", "is no duration"),
        ("90m\n", "is no duration"),
        ("1h-30m", "is no duration"),
        ("٩m", "is no duration"),
        ("m", "is no duration"),
        (".s", "is no duration"),
        ("99999999999h", "too long"),
        ("9" * 60 + "h", "too long"),
        ("9" * 5000 + "h", "is no duration"),
    ],
)
def test_anything_else_is_refused_and_the_reason_names_the_text(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as caught:
        parse_duration(text)
    assert str(caught.value).startswith(repr(text)[:40])


def test_a_huge_text_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError, match="…") as caught:
        parse_duration("9" * 100_000)
    assert len(str(caught.value)) < 200


def test_a_positive_text_never_becomes_zero() -> None:
    assert parse_duration("1ns") == timedelta(microseconds=1)
    assert parse_duration("0.0000001ms") == timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (45, "45s"),
        (300, "5m"),
        (290, "4m50s"),
        (5400, "90m"),
        (3600, "1h"),
        (5395, "89m55s"),
        (10_800, "3h"),
        (9000, "2h30m"),
        (86_400, "24h"),
        (7201, "2h1s"),
        (1.5, "1.5s"),
        (0.25, "250ms"),
        (0.000001, "0.001ms"),
        (-90, "-1m30s"),
    ],
)
def test_a_duration_is_written_as_people_say_it(seconds: float, text: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == text


@given(st.timedeltas(min_value=-LONGEST, max_value=LONGEST))
def test_what_is_written_is_read_back(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


@given(st.text(max_size=80))
def test_any_text_is_a_finite_duration_or_a_value_error(text: str) -> None:
    try:
        assert abs(parse_duration(text)) <= LONGEST
    except ValueError as error:
        assert "\n" not in str(error)
