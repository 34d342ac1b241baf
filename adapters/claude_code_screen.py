"""What Claude Code's screen says. Facts were observed on version 2.1.332, at 60 and 120 columns.

Only the live region counts: the composer between the last two full-width rules and what stands around it. Words in the
conversation above are never evidence. Dialogs are told apart in `claude_code_dialogs`.
"""

import re
from collections.abc import Sequence

from adapters.claude_code_dialogs import LOGGED_OUT, dialog
from mcp_agent.adapter import Blocked, Busy, Composer, Ready, Screen, Signal

SHELL_MODE = "!"
"""Stands for the prompt sign while the composer holds a shell command instead of a prompt."""

_RULE = re.compile(r"^─{10,}.*$")
_CHIP = re.compile(r"^\[(Pasted text|Image) #\d+[^\]\n]*\]$")
_LOGGED_OUT = re.compile(r"(^|  |[·s] )Not logged in · run /login$", re.IGNORECASE)
_BUSY_TITLES = ("◐", "◑", "◒", "◓")
_WORKING = re.compile(r"^[·✢✳✶✻✽*] (\S+…|(?P<reason>.+) · retrying\b)")


def read(screen: Screen) -> Sequence[Signal]:
    """A dialog outranks the composer, since the CLI draws one instead of the other; busy outranks ready."""
    if asked := dialog(screen.lines):
        return [asked]
    box = _box(screen.lines)
    if box is None:
        return []
    if _is_busy(screen, box):
        return [Busy(reason=_reason(screen, box))]
    return [Blocked(LOGGED_OUT) if _is_logged_out(screen, box) else Ready()]


def composer(screen: Screen) -> Composer | None:
    """The draft. A chip stands for a long paste; ghost text is dim but for the character below the block cursor.

    The sign of the shell mode belongs to the draft: whatever is typed there would be run.
    """
    box = _box(screen.lines)
    if box is None or dialog(screen.lines):
        return None
    top, bottom = box
    rows = [line[2:] for line in screen.lines[top + 1 : bottom]]
    draft = "\n".join(rows).strip()
    if draft and _is_ghost(draft, screen.dim_lines[top + 1 : bottom]):
        draft = ""
    if screen.lines[top + 1].startswith(SHELL_MODE):
        draft = f"{SHELL_MODE} {draft}".rstrip()
    return Composer(draft, is_chip=bool(_CHIP.match(draft)))


def _box(lines: Sequence[str]) -> tuple[int, int] | None:
    """The rows of the composer's two rules."""
    rules = [row for row, line in enumerate(lines) if _RULE.match(line)]
    if len(rules) < 2:
        return None
    top, bottom = rules[-2:]
    first = lines[top + 1] if bottom > top + 1 else ""
    return (top, bottom) if first.startswith(("❯", SHELL_MODE)) else None


def _is_busy(screen: Screen, box: tuple[int, int]) -> bool:
    top, bottom = box
    footer = " ".join(line.strip() for line in screen.lines[bottom + 1 :])
    return (
        "esc to interrupt" in footer
        or screen.title.startswith(_BUSY_TITLES)
        or bool(_WORKING.match(_last_entry(screen.lines[:top])))
    )


def _is_logged_out(screen: Screen, box: tuple[int, int]) -> bool:
    """Beside the mode, or below it on a narrow screen."""
    return any(_LOGGED_OUT.search(line) for line in screen.lines[box[1] + 1 :])


def _reason(screen: Screen, box: tuple[int, int]) -> str | None:
    """What the CLI tries again after, without the seconds and attempts that it counts."""
    found = _WORKING.match(_last_entry(screen.lines[: box[0]]))
    return f"retrying: {found['reason']}" if found and found["reason"] else None


def _last_entry(above: Sequence[str]) -> str:
    """The nearest line that begins at the first column: an older working line is not the last thing said."""
    return next((line for line in reversed(above) if line[:1].strip()), "")


def _is_ghost(draft: str, dim_rows: Sequence[str]) -> bool:
    dim = sum(len(row.replace(" ", "")) for row in dim_rows)
    return dim > 0 and dim >= len("".join(draft.split())) - 1
