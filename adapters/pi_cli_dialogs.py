"""Which dialog stands in the place of Pi's composer. Facts were observed on version 1.6.0.

A dialog has the composer's borders and closes with a line of its keys; the selected option is marked by an arrow.
"""

import re
from collections.abc import Sequence

from mcp_agent.adapter import Blocked, Dialog, DialogAnswer

TRUST_LABEL = "Trust (this session only)"
"""Saves nothing in the user's agent directory."""

LOGIN = Dialog("login", advice="run the CLI once in this HOME and type /login, or set a provider's API key")

_KEYS = re.compile(r"\b(enter|esc|escape)\b[^.]*\b(select|confirm|save|cancel|close|back)\b", re.IGNORECASE)
_TRUST_TITLE = "Trust project folder?"


def dialog(rows: Sequence[str]) -> Blocked | None:
    """The dialog that these rows draw; None when they are a composer's."""
    said = [row for row in rows if row.strip()]
    if len(said) < 2 or rows[0].strip() or not _KEYS.search(said[-1]):
        return None
    options, selected = _options(said[:-1])
    if said[0].strip() == _TRUST_TITLE:
        answer = DialogAnswer(TRUST_LABEL, needs="trust") if TRUST_LABEL in options else None
        advice = "pass --trust if this directory may be trusted, or attach and answer it"
        return Blocked(Dialog("directory trust", options, selected, answer, advice))
    return Blocked(Dialog("unknown", options, selected))


def _options(rows: Sequence[str]) -> tuple[tuple[str, ...], int]:
    """The rows around the arrow that begin where its label does."""
    at = next((row for row, line in enumerate(rows) if line.lstrip().startswith("→ ")), None)
    if at is None:
        return (), 0
    label = rows[at].index("→") + 2
    first = last = at
    while first > 0 and _begins_at(rows[first - 1], label):
        first -= 1
    while last + 1 < len(rows) and _begins_at(rows[last + 1], label):
        last += 1
    return tuple(row[label:].strip() for row in rows[first : last + 1]), at - first


def _begins_at(row: str, column: int) -> bool:
    return len(row) - len(row.lstrip()) == column
