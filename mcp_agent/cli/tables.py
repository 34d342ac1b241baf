"""Tables of people's terminals: what identifies a row is never cut, and what does not fit is left out or folded."""

import sys
from collections.abc import Collection, Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_PIPED_WIDTH = 1000
"""No cell of a table that a program reads is cut or folded."""
_FOLDED_TO = 16
"""A column that may be folded is not made narrower than this before it is left out."""
_BETWEEN = 2

Row = Mapping[str, str]
"""The cells by the titles of their columns, in their order. Every row has the same titles."""


def print_table(rows: Sequence[Row], *, whole: Collection[str], spare: Sequence[str]) -> None:
    """Print rows. Columns in `whole` are never folded while they fit; those in `spare` go first, in this order."""
    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
    titles = _fitting(rows, whole=whole, spare=spare, width=console.width)
    tight = _needed(rows, titles, whole=whole) > console.width
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, _BETWEEN - 1, 0, 0))
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=title in whole and not tight)
    for row in rows:
        table.add_row(*(Text(row[title]) for title in titles))
    console.print(table)


def _fitting(rows: Sequence[Row], *, whole: Collection[str], spare: Sequence[str], width: int) -> list[str]:
    titles, left = list(rows[0]), list(spare)
    while left and _needed(rows, titles, whole=whole) > width:
        titles.remove(left.pop(0))
    return titles


def _needed(rows: Sequence[Row], titles: Sequence[str], *, whole: Collection[str]) -> int:
    """The width below which something that must stay whole would be cut."""
    natural = {title: max(Text(text).cell_len for text in (title, *(row[title] for row in rows))) for title in titles}
    widths = [natural[title] if title in whole else min(natural[title], _FOLDED_TO) for title in titles]
    return sum(widths) + _BETWEEN * len(titles)
