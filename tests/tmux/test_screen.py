"""Captures read back: dim text, colours, line drawing, hard spaces."""

import pytest

from mcp_agent.tmux.screen import read_screen


@pytest.mark.parametrize(
    ("printed", "line", "dim"),
    [
        ("plain   ", "plain", ""),
        ("> \x1b[2mghost\x1b[0m text", "> ghost text", "  ghost"),
        ("\x1b[1;2mboth\x1b[0m", "both", "both"),
        ("\x1b[38;5;2mgreen\x1b[39m", "green", ""),
        ("\x1b[38;2;2;2;2mrgb\x1b[0;48;5;2mbg", "rgbbg", ""),
        ("\x1b[4:2mwavy \x1b[2;38;5;2mdim", "wavy dim", "     dim"),
        ("\x1b[2ma\x1b[22mb\x1b[2mc\x1b[md", "abcd", "a c"),
        ("字\x1b[2m字\x1b[0m", "字字", " 字"),
        ("\x0elqk\x0f q", "┌─┐ q", ""),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ end", "link end", ""),
        ("❯\xa0x\xa0", "❯ x", ""),
        ("", "", ""),
    ],
)
def test_a_line_is_read_with_its_dim_part(printed: str, line: str, dim: str) -> None:
    assert read_screen([printed]) == ((line,), (dim,))


def test_dim_goes_on_in_the_next_line_until_it_is_reset() -> None:
    lines, dim = read_screen(["\x1b[2mone", "two", "", "th\x1b[0mree"])
    assert lines == ("one", "two", "", "three")
    assert dim == ("one", "two", "", "th")
