"""A screen as an SVG picture that needs nothing else: no font of ours, no style sheet, no network."""

import re
from collections.abc import Iterator, Sequence
from html import escape

from mcp_agent.scenarios.report.picture import BACKGROUND, Look, Row, Span, rows
from mcp_agent.scenarios.report.record import Frame

COLUMN, ROW, SIZE = 8.4, 18.0, 14.0
"""The width of a column, the height of a row and the size of the letters, in the picture's own units."""
MARGIN = 12.0

_FONT = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace"
_DIM = "0.62"
_BASELINE = 0.75
"""Of the height of a row."""
_WORDS = re.compile(r"[^ ]+(?: [^ ]+)*")


def svg(frame: Frame, *, label: str) -> str:
    """The picture, cut below the last row that shows something. `label` is what a screen reader says."""
    shown = rows(frame.lines, columns=frame.columns) or [()]
    width = frame.columns * COLUMN + 2 * MARGIN
    height = len(shown) * ROW + 2 * MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}"'
        f' viewBox="0 0 {width:.4g} {height:.4g}" font-family="{_FONT}" font-size="{SIZE:g}">'
        f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>'
    )
    return head + "".join([*_backgrounds(shown), *_texts(shown)]) + "</svg>"


def _backgrounds(shown: Sequence[Row]) -> Iterator[str]:
    for number, row in enumerate(shown):
        for span in row:
            if span.look.background is not None:
                yield (
                    f'<rect x="{_x(span):.5g}" y="{MARGIN + number * ROW:.5g}" width="{span.width * COLUMN:.5g}"'
                    f' height="{ROW:g}" fill="{span.look.background}" shape-rendering="crispEdges"/>'
                )


def _texts(shown: Sequence[Row]) -> Iterator[str]:
    for number, row in enumerate(shown):
        y = MARGIN + (number + _BASELINE) * ROW
        yield from (_text(part, y) for span in row for part in _parts(span))


def _parts(span: Span) -> Iterator[Span]:
    """The words of a span, apart where there is more than one blank: pictures show a row of blanks as one."""
    if span.width != len(span.text):
        yield span
        return
    for found in _WORDS.finditer(span.text):
        yield Span(span.column + found.start(), len(found[0]), found[0], span.look)


def _text(span: Span, y: float) -> str:
    """The letters are stretched over exactly their columns, whatever font there is."""
    attributes = "".join(f' {name}="{value}"' for name, value in _attributes(span.look))
    place = f'x="{_x(span):.5g}" y="{y:.5g}" textLength="{span.width * COLUMN:.5g}"'
    text = escape(_printable(span.text), quote=False)
    return f'<text {place} lengthAdjust="spacingAndGlyphs"{attributes}>{text}</text>'


def _attributes(look: Look) -> Iterator[tuple[str, str]]:
    yield "fill", look.foreground
    if look.bold:
        yield "font-weight", "bold"
    if look.italic:
        yield "font-style", "italic"
    if look.dim:
        yield "opacity", _DIM
    lines = [name for name, drawn in (("underline", look.underline), ("line-through", look.strike)) if drawn]
    if lines:
        yield "text-decoration", " ".join(lines)


def _x(span: Span) -> float:
    return MARGIN + span.column * COLUMN


def _printable(text: str) -> str:
    """Without what XML cannot hold; a terminal shows none of it anyway."""
    return "".join(letter if letter.isprintable() or letter == " " else "\ufffd" for letter in text)
