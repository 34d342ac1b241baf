"""What Cursor's screen says. From screens that users of 2026.06 to 2026.09 wrote down; not seen ourselves.

Only the live region counts: the last row that begins with the arrow, with nothing below it but its further rows and the
two or three rows of the footer. Dialogs are told apart in `cursor_cli_dialogs`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.cursor_cli_dialogs import dialog
from mcp_agent.adapter import Busy, Composer, PromptQueued, Ready, Screen, Signal

PLACEHOLDERS = ("Plan, search, build anything", "Add a follow-up")
"""The first one in an empty conversation, the other one after its first turn, while a turn runs too."""

_ARROW = re.compile(r"^ {0,2}→(?: |$)")
_CHIP = re.compile(r"^\[Pasted text #\d+(?: \+\d+ lines)?\]$")
_STOP = re.compile(r"\s*ctrl\+c to stop$")
_SPINNER = re.compile(r"^ *[\u2800-\u28ff]{1,2} +\w+")
_FOLLOW_UPS = re.compile(r"^ *follow-ups\b", re.IGNORECASE)
_FOLLOW_UPS_END = "enter send now"
_ENTRY = "↳ "
_MOST_FOOTER_ROWS = 4


@dataclass(frozen=True, slots=True)
class _Box:
    """Where the draft's rows begin and end."""

    top: int
    end: int


def read(screen: Screen) -> Sequence[Signal]:
    """A dialog outranks the composer; busy outranks ready."""
    if asked := dialog(screen.lines):
        return [asked]
    box = _box(screen.lines)
    if box is None:
        return []
    held = _held(screen.lines[: box.top]) if _draft(screen, box) == "" else ()
    return [Busy() if _is_busy(screen.lines, box) else Ready(), *held]


def composer(screen: Screen) -> Composer | None:
    """The draft. A placeholder is none, and a chip stands for a long paste."""
    box = _box(screen.lines)
    if box is None or dialog(screen.lines):
        return None
    draft = _draft(screen, box)
    return Composer(draft, is_chip=bool(_CHIP.match(draft)))


def _box(lines: Sequence[str]) -> _Box | None:
    """The composer, set off from its footer by a blank row. No footer, no composer: a menu has an arrow too."""
    top = next((row for row in reversed(range(len(lines))) if _ARROW.match(lines[row])), None)
    if top is None:
        return None
    end = len(lines)
    while end > top + 1 and not lines[end - 1].strip():
        end -= 1
    footer = end
    while footer > top + 1 and lines[footer - 1].strip():
        footer -= 1
    if not top + 1 < footer <= end - 1 or end - footer > _MOST_FOOTER_ROWS:
        return None
    return _Box(top, footer)


def _draft(screen: Screen, box: _Box) -> str:
    first, *rest = screen.lines[box.top : box.end]
    rows = [_STOP.sub("", _ARROW.sub("", first, count=1)), *(line.strip() for line in rest)]
    draft = "\n".join(rows).strip()
    return "" if draft in PLACEHOLDERS or _is_dim(draft, screen.dim_lines[box.top : box.end]) else draft


def _is_dim(draft: str, dim_rows: Sequence[str]) -> bool:
    """The arrow is dim, too, with a draft that is not."""
    dim = sum(len(row.replace(" ", "").replace("→", "")) for row in dim_rows)
    return dim > 0 and dim >= len("".join(draft.split())) - 1


def _is_busy(lines: Sequence[str], box: _Box) -> bool:
    """The mark stands at the end of the composer's row, and is cut off on a narrow screen; the spinner is above it."""
    above = [line for line in lines[: box.top] if line.strip()]
    near = _without_follow_ups(above)
    return bool(_STOP.search(lines[box.top])) or bool(near and _SPINNER.match(near[-1]))


def _without_follow_ups(above: Sequence[str]) -> Sequence[str]:
    start = next((row for row in reversed(range(len(above))) if _FOLLOW_UPS.match(above[row])), None)
    return above if start is None or _FOLLOW_UPS_END not in above[-1] else above[:start]


def _held(above: Sequence[str]) -> Iterator[PromptQueued]:
    """What waits for the turn's end; of a long one only the beginning is shown."""
    rows = [line.strip() for line in above if line.strip()]
    if not rows or _FOLLOW_UPS_END not in rows[-1]:
        return
    start = next((row for row in reversed(range(len(rows))) if _FOLLOW_UPS.match(rows[row])), len(rows))
    for row in rows[start + 1 : -1]:
        if row.startswith(_ENTRY):
            yield PromptQueued(row.removeprefix(_ENTRY).removesuffix("…").strip())
