"""A capture for people: styles are kept, every other control is gone, line drawing is what it shows."""

import pytest

from mcp_agent.tmux.screen import read_screen, styled


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[1;38;2;2;2;2mbold\x1b[0m", "\x1b[1;38;2;2;2;2mbold\x1b[0m"),
        ("\x1b[4:3mwavy", "\x1b[4:3mwavy"),
        ("\x0el\x1b[2mqk\x0f q", "┌\x1b[2m─┐ q"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ end", "link end"),
        ("a\x1b[2Jb\x07c\x7f\td", "abcd"),
        ("❯\xa0x", "❯ x"),
    ],
)
def test_a_line_keeps_its_styles_and_no_other_control(printed: str, shown: str) -> None:
    assert styled([printed]) == (shown,)


def test_line_drawing_goes_on_over_the_end_of_a_line() -> None:
    assert styled(["\x0eq", "q\x0fq"]) == ("─", "─q")


def test_without_its_styles_it_is_the_plain_screen() -> None:
    printed = ["\x1b[1mone\x1b[0m", "\x0eqq\x0f two"]
    assert read_screen(styled(printed))[0] == read_screen(printed)[0]
