"""A screen becomes cells, and the cells a picture: columns, colours, wide letters and wraps are where they were."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.scenarios.report.picture import BACKGROUND, FOREGROUND, Look, Span, rows
from mcp_agent.scenarios.report.record import Frame
from mcp_agent.scenarios.report.svg import COLUMN, MARGIN, svg

SVG = "{http://www.w3.org/2000/svg}"


def spans(line: str, columns: int = 80) -> list[Span]:
    return [span for row in rows([line], columns=columns) for span in row]


def test_styles_become_looks() -> None:
    told = "\x1b[1;3;4;9;38;2;255;0;128;48;5;237mall\x1b[0m\x1b[2mdim\x1b[7mturned\x1b[0m"
    everything, dim, turned = spans(told)
    assert everything.look == Look("#ff0080", "#3a3a3a", bold=True, dim=False, italic=True, underline=True, strike=True)
    assert dim.look == Look(dim=True)
    assert (turned.look.foreground, turned.look.background) == (BACKGROUND, FOREGROUND)


def test_a_style_lasts_over_the_end_of_a_line() -> None:
    first, second = rows(["\x1b[31mred", "still"], columns=80)
    assert first[0].look == second[0].look != Look()


def test_wide_letters_take_two_columns_and_marks_none() -> None:
    found = [(span.column, span.width, span.text) for span in spans("a日本e\u0301!")]
    assert found == [(0, 1, "a"), (1, 2, "日"), (3, 2, "本"), (5, 1, "e\u0301"), (6, 1, "!")]


def test_a_joined_line_is_wrapped_at_the_width_of_the_screen() -> None:
    wrapped = rows(["abcdefgh"], columns=3)
    assert [row[0].text for row in wrapped] == ["abc", "def", "gh"]


def test_empty_rows_at_the_end_are_cut_and_others_kept() -> None:
    assert [len(row) for row in rows(["", "a", "", "b", "", "   "], columns=10)] == [0, 1, 0, 1]


def test_a_picture_is_whole_in_itself_and_says_what_it_shows() -> None:
    picture = svg(Frame(0.0, 80, 24, ("\x1b[41m  x < y & z\x1b[0m",)), label='the "screen"')
    root = ElementTree.fromstring(picture)
    assert root.get("aria-label") == 'the "screen"'
    (text,) = root.iter(f"{SVG}text")
    assert (text.text, text.get("x")) == ("x < y & z", f"{MARGIN + 2 * COLUMN:.5g}")
    assert re.findall(r"(?:href|src|url|@import|<style|<script)", picture) == []


def test_words_far_apart_stay_in_their_columns() -> None:
    root = ElementTree.fromstring(svg(Frame(0.0, 80, 24, ("  one word     two ",)), label="x"))
    found = [(text.text, float(text.get("x", ""))) for text in root.iter(f"{SVG}text")]
    assert found == [("one word", MARGIN + 2 * COLUMN), ("two", MARGIN + 15 * COLUMN)]


@given(lines=st.lists(st.text(max_size=30), max_size=5), columns=st.integers(2, 40))
def test_any_text_is_a_picture_that_parses_and_stays_within_its_width(lines: list[str], columns: int) -> None:
    root = ElementTree.fromstring(svg(Frame(0.0, columns, 24, tuple(lines)), label="x"))
    right = MARGIN + columns * COLUMN + 0.1
    for text in root.iter(f"{SVG}text"):
        assert float(text.get("x", "")) + float(text.get("textLength", "")) <= right
