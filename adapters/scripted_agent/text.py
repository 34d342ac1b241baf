"""Text on a grid of cells: what is drawn for a character, how wide it is, where a line breaks."""

import re
import unicodedata

_PICTURES = {code: 0x2400 + code for code in range(0x20) if code != 0x0A} | {0x7F: 0x2421}
_MODE = re.compile(r" *[/!#@]")
_CONTROLS = {picture: code for code, picture in _PICTURES.items()}


def guarded(text: str) -> str:
    """The text with one more blank where it would begin a command or a mode."""
    return f" {text}" if _MODE.match(text) else text


def unguarded(text: str) -> str:
    """The text that was guarded: one blank before a mode's character says that it is none."""
    return text[1:] if text.startswith(" ") and _MODE.match(text) else text


def visible(text: str) -> str:
    """The text with a picture for each control character except the line feed, so that none reaches the terminal."""
    drawn = text.translate(_PICTURES)
    return "".join("�" if unicodedata.category(char) in {"Cc", "Cs"} and char != "\n" else char for char in drawn)


def original(drawn: str) -> str:
    """The text that `visible` drew."""
    return drawn.translate(_CONTROLS)


def cells(char: str) -> int:
    """How many cells a terminal gives one character."""
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def wrap(line: str, width: int) -> list[str]:
    """One line in rows of at most `width` cells; at least one row. A blank at a break begins the next row."""
    rows, row, used = [], "", 0
    for char in line:
        size = cells(char)
        if used + size > width and row:
            kept = row.rstrip(" ") or row
            rows.append(kept)
            row = row[len(kept) :]
            used = sum(map(cells, row))
        row, used = row + char, used + size
    return [*rows, row]
