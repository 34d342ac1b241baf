"""Which dialog stands on Codex's screen, if any. Facts were observed on version 0.171.0.

A dialog takes the composer's place and closes the screen with a row of its keys, where the composer has its footer.
Words are trusted only in what stands above the options, and in the options.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from mcp_agent.adapter import Blocked, Dialog, DialogAnswer, Waiting

TRUST_LABEL = "Trust and continue"
NO_HOOKS_LABEL = "Continue without trusting (hooks won't run)"
SAME_MODEL_LABEL = "Keep current model"

_KEYS = re.compile(
    r"^ *(?:press )?(?:enter|esc|k)\b.*\b(?:back|cancel|close|confirm|continue|select|skip|submit)\b", re.I
)
_OPTION = re.compile(r"^(?P<indent> *)(?P<mark>[›>] )?\d+\. (?P<label>\S.*)$")
_DESCRIPTION = re.compile(r"  +\S.*$")
_QUESTION_ROWS = 8
"""How far above its options a dialog says what it is."""


@dataclass(frozen=True, slots=True)
class _Known:
    name: str
    mark: str
    """How a row above the options, or an option, begins."""
    advice: str
    answer: DialogAnswer | None = None


_KNOWN = (
    _Known(
        "directory trust",
        "Trust this folder?",
        "pass --trust if this directory may be trusted, or attach and answer it",
        DialogAnswer(TRUST_LABEL, needs="trust"),
    ),
    _Known(
        "hooks review",
        "Hooks need review",
        "run the CLI once yourself and review your hooks",
        DialogAnswer(NO_HOOKS_LABEL, needs="nothing"),
    ),
    _Known("login", "Sign in with ", "run the CLI once in this HOME and log in, or set a credential"),
    _Known("update", "Update now", "attach and answer it, or update the CLI yourself"),
    _Known(
        "rate limit reminder",
        "Approaching rate limits",
        "attach and choose the model to go on with",
        DialogAnswer(SAME_MODEL_LABEL, needs="nothing"),
    ),
)
_PERMISSION = re.compile(r"^(?:Allow |Would you like to |Do you want to )")
_ANSWERED_YES = ("Allow", "Yes")
_ANSWERED_NO = "No, and tell Codex what to do differently"
_QUESTION = re.compile(r"^Question \d+/\d+\b")


@dataclass(frozen=True, slots=True)
class _Menu:
    above: tuple[str, ...] = ()
    """The rows before the options, stripped, the nearest last."""
    options: tuple[str, ...] = ()
    selected: int = 0


def dialog(lines: Sequence[str]) -> Blocked | Waiting | None:
    """The dialog at the bottom of the screen; None where the composer stands, or nothing that is known."""
    last = _last_block(lines)
    if not any(_KEYS.match(row) for row in last):
        return None
    menu = _menu(lines)
    if any(_QUESTION.match(row) for row in menu.above):
        return Waiting("question")
    if _asks_permission(menu):
        return Waiting("permission")
    for known in _KNOWN:
        if any(place.startswith(known.mark) for place in (*menu.above, *menu.options)):
            return Blocked(Dialog(known.name, menu.options, menu.selected, known.answer, known.advice))
    return Blocked(Dialog("unknown", menu.options, menu.selected))


def _asks_permission(menu: _Menu) -> bool:
    if not menu.options or not menu.options[0].startswith(_ANSWERED_YES):
        return False
    return menu.options[-1].startswith(_ANSWERED_NO) or any(_PERMISSION.match(row) for row in menu.above)


def _last_block(lines: Sequence[str]) -> Sequence[str]:
    """The rows after the last blank one that has something below it."""
    rows = [*lines]
    while rows and not rows[-1]:
        rows.pop()
    start = len(rows)
    while start and rows[start - 1]:
        start -= 1
    return rows[start:]


def _menu(lines: Sequence[str]) -> _Menu:
    """The last list of numbered options with a selection; what is not numbered continues the option above it."""
    found = [(row, option) for row, line in enumerate(lines) if (option := _OPTION.match(line))]
    at = next((row for row, option in reversed(found) if option["mark"]), None)
    if at is None:
        return _Menu(tuple(line.strip() for line in _last_block(lines)))
    column = next(_column(option) for row, option in found if row == at)
    options = [(row, option) for row, option in found if _column(option) == column and _is_near(lines, row, at)]
    first = options[0][0]
    above = tuple(line.strip() for line in lines[max(0, first - _QUESTION_ROWS) : first] if line)
    labels = tuple(_DESCRIPTION.sub("", option["label"]) for _, option in options)
    return _Menu(above, labels, next(place for place, (row, _) in enumerate(options) if row == at))


def _column(option: re.Match[str]) -> int:
    """Where the number stands: the mark takes the place of two blanks."""
    return len(option["indent"]) + len(option["mark"] or "")


def _is_near(lines: Sequence[str], row: int, at: int) -> bool:
    """Options may have one blank row between them, as on the login screen, and no more."""
    between = lines[min(row, at) : max(row, at)]
    return all(one or other for one, other in pairwise(between))
