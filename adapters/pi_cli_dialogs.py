"""Which dialog stands in the place of Pi's composer. Facts were observed on version 1.6.0, at 60 and 120 columns.

A dialog has the composer's borders. It closes with a line of its keys, or it keeps a blank line at both borders and
marks one of its lines.
"""

import re
from collections.abc import Sequence

from mcp_agent.adapter import Blocked, Dialog, DialogAnswer

TRUST_LABEL = "Trust (this session only)"
"""Saves nothing in the user's agent directory."""

LOGIN = Dialog("login", advice="run the CLI once in this HOME and type /login, or set a provider's API key")

_SET_OFF = re.compile(r"^( |>?$)")
"""How a dialog begins: blank, indented, or with a field to search in. What we place begins with a word."""
_KEYS = re.compile(r"(  | · | • )esc(ape)?(/ctrl\+c)?( +to)? +(cancel|close)\b", re.IGNORECASE)
_KEY_ROWS = 3
"""Over how many rows a narrow screen spreads the keys."""
_MARKED = re.compile(r"^ ?[→›] ")
_COUNTER = re.compile(r"^ *\(\d+/\d+\)$")
_TRUST_TITLE = "Trust project folder?"


def dialog(rows: Sequence[str]) -> Blocked | None:
    """The dialog that these rows draw; None when they are a composer's."""
    said = [row for row in rows if row.strip()]
    if not said or not _SET_OFF.match(rows[0]) or not (_has_keys(said) or _is_list(rows)):
        return None
    options, selected = _options(said)
    if said[0].strip() == _TRUST_TITLE:
        answer = DialogAnswer(TRUST_LABEL, needs="trust") if TRUST_LABEL in options else None
        advice = "pass --trust if this directory may be trusted, or attach and answer it"
        return Blocked(Dialog("directory trust", options, selected, answer, advice))
    return Blocked(Dialog("unknown", options, selected))


def _has_keys(said: Sequence[str]) -> bool:
    return bool(_KEYS.search("  ".join(row.strip() for row in ("", *said[-_KEY_ROWS:]))))


def _is_list(rows: Sequence[str]) -> bool:
    """A draft of our own begins and ends with a word."""
    return (
        not rows[0].strip() and not rows[-1].strip() and any(_MARKED.match(row) or _COUNTER.match(row) for row in rows)
    )


def _options(rows: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The rows around the marked one that begin where its label does."""
    at = next((row for row, line in enumerate(rows) if _MARKED.match(line)), None)
    if at is None:
        return (), 0
    label = _indent(rows[at]) + 2
    first = last = at
    while first > 0 and _indent(rows[first - 1]) == label:
        first -= 1
    while last + 1 < len(rows) and _indent(rows[last + 1]) == label:
        last += 1
    return tuple(row[label:].strip() for row in rows[first : last + 1]), at - first


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())
