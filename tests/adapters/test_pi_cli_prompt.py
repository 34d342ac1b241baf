"""Texts that would be commands in Pi's composer."""

import pytest

from adapters.pi_cli import ADAPTER

pytestmark = pytest.mark.contract("I3")


@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("/model", r"\/model"),
        ("!ls", r"\!ls"),
        ("  /quit now", r"  \/quit now"),
        ("\n\t!!rm", "\n\t\\!!rm"),
        ("\ufeff/x", "\ufeff\\/x"),
        ("// a comment", r"\// a comment"),
    ],
)
def test_a_text_that_would_be_a_command_gets_a_backslash(text: str, placed: str) -> None:
    assert ADAPTER.guard(text) == placed


def test_a_final_backslash_does_not_take_the_enter_away() -> None:
    assert ADAPTER.guard("a\\") == "a\\ "
    assert ADAPTER.guard("/\\") == "\\/\\ "


@pytest.mark.parametrize("text", ["hello", "a /b", "@file", "#tag", "-x", ";", "exit", "a\tb", "\\/x", "\u200b/x"])
def test_any_other_text_is_placed_as_it_is(text: str) -> None:
    assert ADAPTER.guard(text) == text


@pytest.mark.parametrize(("text", "is_command"), [("/compact", True), ("!ls", False), (" /compact", False)])
def test_a_command_begins_with_a_slash(text: str, is_command: bool) -> None:
    assert ADAPTER.is_command(text) is is_command
