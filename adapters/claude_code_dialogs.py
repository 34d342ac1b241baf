"""Which dialog stands on Claude Code's screen, if any. Facts were observed on version 2.1.332.

A dialog is drawn below an edge, a row of `─` or `▔` at the first column, and closes the screen with its keys. Text of
the conversation and of a tool's arguments is indented, so it is neither. Words are trusted only in a dialog's title, in
the line above its options, and in the options.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_agent.adapter import Blocked, Dialog, DialogAnswer, Waiting

TRUST_LABEL = "Yes, I trust this folder"
WHOLE_LABEL = "Resume full session as-is"
RESUME_LABEL = "Resume"
STOP_LABEL = "Stop and wait for limit to reset"

_EDGE = re.compile(r"^(─{10,}.*|▔{10,})$")
_KEYS = re.compile(r"\b(Enter to (confirm|continue|save|select|stay|use|view|resume)|Esc to (cancel|close|go back))\b")
_NOTE = re.compile(r"^ *Continuing .+ · Esc to cancel$")
"""Stands below the composer while a usage limit lasts, and is no dialog's row of keys."""
_KEY_ROWS = 3
"""Over how many rows a narrow screen spreads the keys."""
_SELECTED = re.compile(r"^ *❯ \S")
_NUMBER = re.compile(r"^\d+\. ")
_OWN_WORDS = re.compile(r"^\s*(❯ )?\d+\. Chat about this$")
"""An option of every question that the agent itself asks."""
_LOGIN = "run the CLI once in this HOME and log in, or set a credential"


@dataclass(frozen=True, slots=True)
class _Known:
    name: str
    mark: str
    """How the title, the line above the options or an option begins."""
    advice: str
    answer: DialogAnswer | None = None


_KNOWN = (
    _Known(
        "directory trust",
        TRUST_LABEL,
        "pass --trust if this directory may be trusted, or attach and answer it",
        DialogAnswer(TRUST_LABEL, needs="trust"),
    ),
    _Known("API key approval", "Do you want to use this API key?", "approve the key once by running the CLI yourself"),
    _Known("bypass permissions", "Yes, I accept", "attach and accept it yourself, or use another mode"),
    _Known("automatic checks", "Auto mode can't check", "attach and answer it, or name another permission mode"),
    _Known("login", "Select login method", _LOGIN),
    _Known("resume menu", "Resume session", "attach and choose a conversation, or close it with Escape"),
    _Known("resume or summary", WHOLE_LABEL, "attach and answer it", DialogAnswer(WHOLE_LABEL, needs="nothing")),
    _Known(
        "resume or begin anew",
        "Start a new conversation",
        "attach and answer it",
        DialogAnswer(RESUME_LABEL, needs="nothing"),
    ),
    _Known("usage limit", STOP_LABEL, "attach and choose how to go on", DialogAnswer(STOP_LABEL, needs="nothing")),
    _Known("settings problem", "Settings Error", "mend the settings file that it names"),
    _Known("settings problem", "Settings Warning", "mend the settings file that it names"),
    _Known("theme", "Choose the text style", "run the CLI once in this HOME and finish its onboarding"),
)
"""The two that ask how to resume are known by the program's own text, and were not seen on a screen."""
_WELCOME = "Welcome to Claude Code"
"""The title of the onboarding, which is drawn without an edge."""
_NO_CONNECTION = _Known(
    "no connection", "Unable to connect to Anthropic services", "finish onboarding once with a connection"
)


def dialog(lines: Sequence[str]) -> Blocked | Waiting | None:
    """The dialog at the bottom of the screen. Without its edge in view nothing vouches for its words."""
    edges = [row for row, line in enumerate(lines) if _EDGE.match(line)]
    area = [line for line in lines[edges[-1] + 1 if edges else 0 :] if line and not _NOTE.match(line)]
    if area and area[0].startswith(_WELCOME) and _NO_CONNECTION.mark in (line.strip() for line in area):
        return Blocked(Dialog(_NO_CONNECTION.name, advice=_NO_CONNECTION.advice))
    if not _KEYS.search(" ".join(line.strip() for line in area[-_KEY_ROWS:])):
        return None
    if any(_OWN_WORDS.match(line) for line in area):
        return Waiting("question")
    menu = _menu(area)
    if not edges:
        return Blocked(replace(_UNKNOWN, options=menu.options, selected=menu.selected))
    return _named(menu, title=area[0].strip())


LOGGED_OUT = Dialog("login", advice=_LOGIN)
"""No dialog is drawn then, but no prompt would be answered."""
_UNKNOWN = Dialog("unknown")


@dataclass(frozen=True, slots=True)
class _Menu:
    question: str = ""
    """The line above the options."""
    options: tuple[str, ...] = ()
    selected: int = 0


def _named(menu: _Menu, *, title: str) -> Blocked | Waiting:
    places = (title, menu.question, *menu.options)
    for known in _KNOWN:
        if any(place.startswith(known.mark) for place in places):
            return Blocked(Dialog(known.name, menu.options, menu.selected, known.answer, known.advice))
    if menu.question.startswith("Do you want to") and menu.options[0].startswith("Yes"):
        return Waiting("permission")
    return Blocked(replace(_UNKNOWN, options=menu.options, selected=menu.selected))


def _menu(area: Sequence[str]) -> _Menu:
    """The last list with a `❯`: labels of one indentation; what is indented deeper continues the label above it."""
    at = next((row for row in reversed(range(len(area))) if _SELECTED.match(area[row])), None)
    if at is None:
        return _Menu()
    indent = area[at].index("❯")
    label, more = re.compile(rf"^ {{{indent}}}(❯ |  )\S"), re.compile(rf"^ {{{indent + 3},}}\S")
    first = last = at
    while first > 0 and (label.match(area[first - 1]) or more.match(area[first - 1])):
        first -= 1
    while more.match(area[first]):
        first += 1
    while last + 1 < len(area) and (label.match(area[last + 1]) or more.match(area[last + 1])):
        last += 1
    return _menu_of(area, first, last=last, at=at, is_label=label)


def _menu_of(area: Sequence[str], first: int, *, last: int, at: int, is_label: re.Pattern[str]) -> _Menu:
    options: list[str] = []
    selected = 0
    for row in range(first, last + 1):
        text = area[row].replace("❯", " ", 1).strip() if row == at else area[row].strip()
        if is_label.match(area[row]):
            selected = len(options) if row == at else selected
            options.append(_NUMBER.sub("", text))
        else:
            options[-1] += f" {text}"
    return _Menu(area[first - 1].strip() if first else "", tuple(options), selected)
