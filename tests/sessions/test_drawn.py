"""What a terminal makes of a text is still that text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.sessions.input.drawn import is_drawing, is_visible

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
UNASSIGNED = "\u0378"


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    ("drawn", "meant"),
    [
        ("hello\n  world", "hello world"),
        ("ab", f"a{UNASSIGNED}b"),
        ("ab", "a\u2028b"),
        ("👍 ok", "👍🏽 ok"),
        (f"{FAMILY[:-1]}b", f"{FAMILY}b"),
        (f"{FAMILY[:-1]}{FAMILY[:-1]}", FAMILY * 2),
        ("e\u0301\u0302x", "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308x"),
        ("é", "e\u0301"),
        ("w" * 40, "begins elsewhere " + "w" * 60),
    ],
)
def test_a_text_without_what_a_terminal_leaves_out_is_that_text(drawn: str, meant: str) -> None:
    assert is_drawing(drawn, meant)


@pytest.mark.contract("I1")
@pytest.mark.parametrize(
    ("drawn", "meant"),
    [
        ("", "hello"),
        ("hell", "hello"),
        ("ello", "hello"),
        ("hello", "hell"),
        ("hello you", "hello"),
        ("hallo", "hello"),
        ("é", "e"),
        ("w" * 40 + "x", "w" * 60),
    ],
)
def test_a_text_with_anything_more_or_less_is_another(drawn: str, meant: str) -> None:
    assert not is_drawing(drawn, meant)


@pytest.mark.contract("I3")
@given(st.text())
def test_every_text_is_its_own_drawing(text: str) -> None:
    assert is_drawing(text, text)


@pytest.mark.contract("I1")
@given(st.text(max_size=30), st.characters(categories=["L", "N", "P"], max_codepoint=0x2FF))
def test_one_more_character_that_is_surely_drawn_makes_another_text(text: str, more: str) -> None:
    assert not is_drawing(text + more, text)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b", UNASSIGNED, "\u0301", "\u202e\ufeff"])
def test_a_text_of_which_nothing_shows_is_not_visible(text: str) -> None:
    assert not is_visible(text)


@pytest.mark.parametrize("text", ["x", " x ", FAMILY, "שלום", "\u0301x"])
def test_a_text_of_which_something_shows_is_visible(text: str) -> None:
    assert is_visible(text)
