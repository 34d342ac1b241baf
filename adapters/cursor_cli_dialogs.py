"""Which dialog stands on Cursor's screen. From screens that users of 2026.04 to 2026.09 wrote down; not seen ourselves.

At the start a box with one option per row, each with its key in brackets. In a turn a question in the composer's place,
whose options carry their keys in parentheses.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_agent.adapter import Blocked, Dialog, DialogAnswer, Waiting

TRUST_LABEL = "[a] Trust this workspace"
WITHOUT_LABEL = "[c] Continue without approval"
OUR_SERVER = "api-bridge"

_FRAME = re.compile(r"^[ │]+|[ │]+$")
_KEYED = re.compile(r"^(?P<mark>▶ )?(?P<label>\[\w\] \S.*)$")
_HINTED = re.compile(r"^ +(?P<mark>→ )?(?P<label>\S.*?) \((?:[a-z]|tab|shift\+tab|esc(?: or \w)*)\)$")
_QUESTION = re.compile(
    r"^(?:Run this (?:command|MCP tool)(?: outside the sandbox)?|Delete this file|Write to this file|Read this file"
    r"|Allow this web (?:search|fetch)|Proceed with this edit)\?$"
)
_CLARIFYING = re.compile(r"Space select · Enter next/submit · Esc to skip")
_LOGIN = "Press any key to log in"


@dataclass(frozen=True, slots=True)
class _Menu:
    above: tuple[str, ...]
    options: tuple[str, ...]
    selected: int
    below: tuple[str, ...]


def dialog(lines: Sequence[str]) -> Blocked | Waiting | None:
    """The dialog in view; None where none is, or one is only talked about."""
    if _is_last(lines, _LOGIN):
        advice = "run `cursor-agent login` once in this HOME, or set CURSOR_API_KEY"
        return Blocked(Dialog("login", advice=advice))
    if any(_CLARIFYING.search(line) for line in _tail(lines)):
        return Waiting("question")
    if _asks_permission(lines):
        return Waiting("permission")
    return _at_the_start(lines)


def _at_the_start(lines: Sequence[str]) -> Blocked | None:
    menu = _menu(lines)
    if menu is None:
        return None
    said = " ".join(menu.above)
    if "Workspace Trust Required" in said:
        answer = DialogAnswer(TRUST_LABEL, needs="trust") if TRUST_LABEL in menu.options else None
        advice = "pass --trust if this directory may be trusted, or attach and answer it"
        return Blocked(Dialog("directory trust", menu.options, menu.selected, answer, advice))
    if "MCP Server Approval Required" in said:
        ours = OUR_SERVER in said or WITHOUT_LABEL not in menu.options
        advice = f"run `cursor-agent mcp enable {OUR_SERVER}` in this directory, or attach and answer it"
        answer = None if ours else DialogAnswer(WITHOUT_LABEL, needs="nothing")
        return Blocked(Dialog("server approval", menu.options, menu.selected, answer, advice))
    return Blocked(Dialog("unknown", menu.options, menu.selected))


def _menu(lines: Sequence[str]) -> _Menu | None:
    """The last list of keyed options with a marked one. An answered one keeps its rows and loses its mark."""
    rows = [_FRAME.sub("", line) for line in lines]
    found = [(row, option) for row, line in enumerate(rows) if (option := _KEYED.match(line))]
    at = next((row for row, option in reversed(found) if option["mark"]), None)
    if at is None:
        return None
    first = last = at
    while first and _KEYED.match(rows[first - 1]):
        first -= 1
    while last + 1 < len(rows) and _KEYED.match(rows[last + 1]):
        last += 1
    labels = tuple(option["label"] for row, option in found if first <= row <= last)
    return _Menu(tuple(filter(None, rows[:first])), labels, at - first, tuple(filter(None, rows[last + 1 :])))


def _asks_permission(lines: Sequence[str]) -> bool:
    """A question right above its options, and the options last on the screen."""
    rows = _tail(lines)
    end = len(rows)
    while end and _HINTED.match(rows[end - 1]):
        end -= 1
    options = [found for row in rows[end:] if (found := _HINTED.match(row))]
    above = [_FRAME.sub("", row) for row in rows[max(0, end - 4) : end]]
    return len(options) > 1 and any(option["mark"] for option in options) and any(map(_QUESTION.match, above))


def _is_last(lines: Sequence[str], words: str) -> bool:
    rows = _tail(lines)
    return bool(rows) and rows[-1].strip().startswith(words)


def _tail(lines: Sequence[str]) -> Sequence[str]:
    """Without the blank rows below."""
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]
