"""What Pi's screen says. Facts were observed on version 1.6.0.

The composer stands between two borders that are as wide as the screen; its text is narrower by a column, and the
conversation is indented, so that neither can look like a border. The upper border tells of work and of hidden lines.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from adapters.pi_cli_dialogs import LOGIN, dialog
from mcp_agent.adapter import Blocked, Busy, Composer, Ready, Screen, Signal

_RULE = re.compile(r"^─{8,}$")
_BORDER = re.compile(rf"{_RULE.pattern}|^─+ [↑↓] \d+ more ─*(\.{{1,3}})?$")
_WORKING = re.compile(r"^─{1,3} ?[^─\s].*─$")
"""A spinner and a word for the work, as `── ⠹ Working ────`; on a narrow screen the spinner alone."""
_WORD = re.compile(r"^── \S+ ([^─]+?)(?: in \d+s)?(?:\.\.\.|…)?(?: \([^─()]*\))? ─")
_CHIP = re.compile(r"^\[paste #\d+ (\+\d+ lines|\d+ chars)\]$")
"""Stands for a paste of more than 10 lines or 1000 characters."""
_NO_MODEL = re.compile(r"%/0\b.*\b(unknown|no-model)$")
"""The footer's context window and model while no model can be used."""


class _Box(NamedTuple):
    top: str
    rows: Sequence[str]
    footer: Sequence[str]


def read(screen: Screen) -> Sequence[Signal]:
    """A dialog is drawn in the composer's place."""
    box = _box(screen.lines)
    if box is None:
        return []
    if asked := _dialog(box):
        return [asked]
    if not _BORDER.match(box.top):
        return [Busy(reason=_reason(box.top))]
    if any(_NO_MODEL.search(line) for line in box.footer):
        return [Blocked(LOGIN)]
    return [Ready()]


def composer(screen: Screen) -> Composer | None:
    """The draft: rows of one width, so that nothing tells a wrap from a line end."""
    box = _box(screen.lines)
    if box is None or _dialog(box):
        return None
    draft = "\n".join(box.rows).strip()
    return Composer(draft, is_chip=bool(_CHIP.match(draft)))


def _box(lines: Sequence[str]) -> _Box | None:
    """What stands between the last two borders of one width."""
    bottom = next((row for row in reversed(range(len(lines))) if _BORDER.match(lines[row])), None)
    if bottom is None:
        return None
    width = len(lines[bottom])
    above = (row for row in reversed(range(bottom)) if len(lines[row]) == width and _is_top(lines[row]))
    top = next(above, None)
    return None if top is None else _Box(lines[top], lines[top + 1 : bottom], lines[bottom + 1 :])


def _dialog(box: _Box) -> Blocked | None:
    """A dialog has no upper border that says anything."""
    return dialog(box.rows) if _RULE.match(box.top) else None


def _reason(border: str) -> str | None:
    """What the CLI does instead of its usual work, without the seconds that it counts."""
    found = _WORD.match(border)
    return None if found is None or found[1] == "Working" else found[1]


def _is_top(line: str) -> bool:
    return bool(_BORDER.match(line) or _WORKING.match(line))
