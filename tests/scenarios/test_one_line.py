"""Texts of others on one line: whole where they fit, and otherwise visibly cut."""

import pytest

from mcp_agent.scenarios.one_line import one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fits exactly", "fits exactly"),
        ("two\nlines", "two ⏎ lines"),
        ("the words are cut", "the words…"),
        ("the words ⏎ are", "the words…"),
        ("withoutanyspace", "withoutanys…"),
        ("a withoutanyspace", "a withoutan…"),
    ],
)
def test_a_text_that_is_too_long_ends_after_a_whole_word_and_with_a_mark(text: str, shown: str) -> None:
    assert one_line(text, longest=12) == shown
    assert len(shown) <= 12
