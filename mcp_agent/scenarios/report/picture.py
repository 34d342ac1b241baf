"""A styled screen as cells: which text stands in which column, and how it looks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.ansi import AnsiDecoder
from rich.cells import get_character_cell_size
from rich.color import Color
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

FOREGROUND, BACKGROUND = "#d8d8d2", "#16181a"

THEME = TerminalTheme(
    (0x16, 0x18, 0x1A),
    (0xD8, 0xD8, 0xD2),
    [
        (0x2B, 0x2E, 0x31),
        (0xE0, 0x6C, 0x6C),
        (0x8C, 0xC2, 0x7A),
        (0xDD, 0xB5, 0x5E),
        (0x7A, 0xA8, 0xE8),
        (0xC5, 0x90, 0xD8),
        (0x6F, 0xC3, 0xC3),
        (0xC8, 0xC8, 0xC2),
    ],
    [
        (0x80, 0x86, 0x8B),
        (0xFF, 0x8F, 0x8F),
        (0xA9, 0xDD, 0x98),
        (0xF3, 0xCF, 0x80),
        (0x9C, 0xC3, 0xFF),
        (0xDD, 0xB0, 0xEE),
        (0x92, 0xDF, 0xDF),
        (0xFF, 0xFF, 0xFA),
    ],
)


@dataclass(frozen=True, slots=True)
class Look:
    """How text looks. Colours are `#rrggbb`; a background of None is the terminal's own."""

    foreground: str = FOREGROUND
    background: str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Text of one look. `column` counts from 0, `width` in columns."""

    column: int
    width: int
    text: str
    look: Look


Row = tuple[Span, ...]


def rows(lines: Sequence[str], *, columns: int) -> list[Row]:
    """The rows of a screen, wrapped at its width, without the empty ones at the end."""
    decoder = AnsiDecoder()
    shown = [row for line in lines for row in _wrapped(decoder.decode_line(line), columns)]
    while shown and not any(span.text.strip() or span.look.background for span in shown[-1]):
        shown.pop()
    return shown


def _wrapped(line: Text, columns: int) -> Iterator[Row]:
    row: list[Span] = []
    at = 0
    for letter, look in _letters(line):
        width = get_character_cell_size(letter)
        if at + width > columns:
            yield tuple(row)
            row, at = [], 0
        _put(row, letter, Span(at, width, letter, look))
        at += width
    yield tuple(row)


def _put(row: list[Span], letter: str, span: Span) -> None:
    """Add a letter. A wide one stands alone, so that whatever follows keeps its column."""
    last = row[-1] if row else None
    if last is not None and span.width == 0:
        row[-1] = Span(last.column, last.width, last.text + letter, last.look)
    elif last is not None and span.width == 1 and last.look == span.look and last.width == len(last.text):
        row[-1] = Span(last.column, last.width + 1, last.text + letter, last.look)
    else:
        row.append(span)


def _letters(line: Text) -> Iterator[tuple[str, Look]]:
    plain, at = line.plain, 0
    for span in line.spans:
        yield from ((letter, Look()) for letter in plain[at : span.start])
        look = _look(span.style if isinstance(span.style, Style) else Style.parse(span.style))
        yield from ((letter, look) for letter in plain[span.start : span.end])
        at = span.end
    yield from ((letter, Look()) for letter in plain[at:])


def _look(style: Style) -> Look:
    front = _colour(style.color) or FOREGROUND
    back = _colour(style.bgcolor)
    if style.reverse:
        front, back = back or BACKGROUND, front
    return Look(
        front,
        back,
        bold=bool(style.bold),
        dim=bool(style.dim),
        italic=bool(style.italic),
        underline=bool(style.underline),
        strike=bool(style.strike),
    )


def _colour(colour: Color | None) -> str | None:
    return None if colour is None or colour.is_default else colour.get_truecolor(THEME).hex
