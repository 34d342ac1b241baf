"""What the scripted agent's screen says.

Only what stands between and below the last two full rules counts. Words in the conversation above are indented, so no
text there can look like a rule.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from adapters.scripted_agent import wording
from adapters.scripted_agent.text import original
from mcp_agent.adapter import Blocked, Busy, Composer, Dialog, DialogAnswer, Ready, Screen, Signal, Waiting

_RULE = re.compile(rf"^{wording.RULE}{{8,}}$")
_CHIP = re.compile(r"^\[Draft of \d+ lines, \d+ characters\]$")
_OPTION = re.compile(rf"^({wording.SELECTED}|{wording.NOT_SELECTED})\d+\. (.+)$")
_PERMISSION = wording.PERMISSION_QUESTION.partition("{")[0]


class _Box(NamedTuple):
    rows: Sequence[str]
    """Without what is only suggested."""
    footer: str


def read(screen: Screen) -> Sequence[Signal]:
    box = _box(screen)
    if box is None:
        return ()
    if box.footer.startswith(wording.CHOOSING):
        return (_question(box.rows),)
    if box.footer.startswith(wording.WORKING):
        return (Busy(),)
    if box.footer.startswith(wording.READY) and _draft(box.rows) is not None:
        return (Ready(),)
    return ()


def composer(screen: Screen) -> Composer | None:
    """The draft, exactly but for blanks at the ends of its lines."""
    box = _box(screen)
    draft = _draft(box.rows) if box and not box.footer.startswith(wording.CHOOSING) else None
    return None if draft is None else Composer(draft, is_chip=bool(_CHIP.match(draft)))


def _box(screen: Screen) -> _Box | None:
    lines = screen.lines
    rules = [row for row, line in enumerate(lines) if _RULE.match(line)]
    if len(rules) < 2:
        return None
    top, bottom = rules[-2:]
    footer = " ".join(line.strip() for line in lines[bottom + 1 :]).strip()
    dim = [*screen.dim_lines, *[""] * len(lines)]
    rows = [_typed(line, dim[row]) for row, line in enumerate(lines) if top < row < bottom]
    return _Box(rows, footer) if footer else None


def _typed(line: str, dim: str) -> str:
    """The row without its dim characters: those are suggested, and nobody typed them."""
    if not dim:
        return line
    return "".join(
        " " if ghost != " " else shown for shown, ghost in zip(line, dim.ljust(len(line)), strict=True)
    ).rstrip()


def _draft(rows: Sequence[str]) -> str | None:
    """None when the rows are no composer."""
    if not rows or not _padded(rows[0]).startswith(wording.PROMPT):
        return None
    first, *others = map(_padded, rows)
    rest = [("\n" if row.startswith(wording.NEW_LINE) else "") + row[len(wording.NEW_LINE) :] for row in others]
    return original(first[len(wording.PROMPT) :] + "".join(rest))


def _padded(row: str) -> str:
    """A captured row has lost the blank of its mark when nothing follows."""
    return row if len(row) > 1 else f"{row} "


def _question(rows: Sequence[str]) -> Signal:
    found = [option for row in rows if (option := _OPTION.match(row))]
    labels = tuple(option[2] for option in found)
    selected = next((place for place, option in enumerate(found) if option[1] == wording.SELECTED), 0)
    question = rows[0] if rows else ""
    if question.startswith(_PERMISSION):
        return Waiting("permission")
    if question == wording.TRUST_QUESTION:
        advice = "pass --trust if this directory may be trusted, or attach to the session and answer it"
        answer = DialogAnswer(wording.TRUST_YES, needs="trust")
        return Blocked(Dialog("directory trust", labels, selected, answer, advice))
    return Blocked(Dialog("unknown", labels, selected))
