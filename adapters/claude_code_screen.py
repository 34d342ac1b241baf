"""What Claude Code's screen says. Facts were observed on version 2.1.332, 120 columns.

Only the live region counts: the composer between the last two full-width rules and what stands around it. Words in the
conversation above are never evidence.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_agent.adapter import Blocked, Busy, Composer, Dialog, DialogAnswer, Ready, Screen, Signal, Waiting

RULE = re.compile(r"^─{10,}.*$")
CHIP = re.compile(r"^\[(Pasted text|Image) #\d+")
BUSY_TITLES = ("◐", "◑", "◒", "◓")
SPINNER = re.compile(r"^[·✢✳✶✻✽*] \S+…")
NUMBER = re.compile(r"^\d+\. ")
MENU_HINTS = ("Enter to confirm", "Esc to cancel", "Enter to select")
LIVE_LINES_ABOVE = 8
"""The working line stands at most this many lines above the composer."""

TRUST_LABEL = "Yes, I trust this folder"

_PERSON = "attach to the session and answer it"
_LOGIN = "run the CLI once in this HOME and log in, or set a credential"


@dataclass(frozen=True, slots=True)
class _Known:
    name: str
    mark: str
    advice: str
    answer: DialogAnswer | None = None


_KNOWN_DIALOGS = (
    _Known(
        "directory trust",
        "trust this folder",
        "pass --trust if this directory may be trusted, or attach and answer it",
        DialogAnswer(TRUST_LABEL, needs="trust"),
    ),
    _Known("API key approval", "Do you want to use this API key?", "approve the key once by running the CLI yourself"),
    _Known("bypass permissions", "Bypass Permissions mode", "attach and accept it yourself, or use another mode"),
    _Known("login", "Select login method", _LOGIN),
    _Known("login", "Not logged in", _LOGIN),
    _Known("theme", "Choose the text style", "run the CLI once in this HOME and finish its onboarding"),
    _Known("no connection", "Unable to connect to Anthropic services", "finish onboarding once with a connection"),
)


def read(screen: Screen) -> Sequence[Signal]:
    """A menu outranks the composer, since the CLI draws one instead of the other; busy outranks ready."""
    menu = _menu(screen.lines)
    if menu is not None:
        return [menu]
    box = _box(screen.lines)
    if box is None:
        return []
    if _is_busy(screen, box):
        return [Busy()]
    return [Ready()]


def composer(screen: Screen) -> Composer | None:
    """The draft. A chip stands for a long paste; ghost text is dim but for the character below the block cursor."""
    box = _box(screen.lines)
    if box is None or _menu(screen.lines) is not None:
        return None
    top, bottom = box
    rows = [line[2:] for line in screen.lines[top + 1 : bottom]]
    draft = "\n".join(rows).strip()
    if draft and _is_ghost(draft, screen.dim_lines[top + 1 : bottom]):
        draft = ""
    return Composer(draft, is_chip=bool(CHIP.match(draft)))


def _box(lines: Sequence[str]) -> tuple[int, int] | None:
    """The rows of the composer's two rules."""
    rules = [row for row, line in enumerate(lines) if RULE.match(line)]
    if len(rules) < 2:
        return None
    top, bottom = rules[-2], rules[-1]
    first = lines[top + 1] if bottom > top + 1 else ""
    return (top, bottom) if first.startswith(("❯", "!")) else None


def _is_busy(screen: Screen, box: tuple[int, int]) -> bool:
    top, bottom = box
    footer = " ".join(screen.lines[bottom + 1 :])
    above = screen.lines[max(0, top - LIVE_LINES_ABOVE) : top]
    return (
        "esc to interrupt" in footer
        or screen.title.startswith(BUSY_TITLES)
        or any(SPINNER.match(line) for line in above)
    )


def _is_ghost(draft: str, dim_rows: Sequence[str]) -> bool:
    dim = sum(len(row.replace(" ", "")) for row in dim_rows)
    return dim > 0 and dim >= len("".join(draft.split())) - 1


def _menu(lines: Sequence[str]) -> Signal | None:
    """A list with one `❯` among labels of the same indentation, below the last rule and closed by a key hint."""
    rules = [row for row, line in enumerate(lines) if RULE.match(line)]
    region = [line for line in lines[rules[-1] + 1 if rules else 0 :] if line]
    hints = [row for row, line in enumerate(region) if any(hint in line for hint in MENU_HINTS)]
    text = "\n".join(region)
    if not hints:
        return _without_options(text)
    options, selected = _options(region[: hints[-1]])
    if "Do you want to" in text and options and options[selected].startswith("Yes"):
        return Waiting("permission")
    for known in _KNOWN_DIALOGS:
        if known.mark in text:
            return Blocked(Dialog(known.name, tuple(options), selected, known.answer, known.advice))
    return Blocked(Dialog("unknown", tuple(options), selected, None, _PERSON))


def _without_options(text: str) -> Signal | None:
    for known in _KNOWN_DIALOGS:
        if known.name == "no connection" and known.mark in text:
            return Blocked(Dialog(known.name, advice=known.advice))
    return None


def _options(region: Sequence[str]) -> tuple[list[str], int]:
    at = next((row for row in reversed(range(len(region))) if region[row].lstrip().startswith("❯ ")), None)
    if at is None:
        return [], 0
    indent = region[at].index("❯")
    siblings = re.compile(rf"^ {{{indent}}}(❯ |  )(?=\S)")
    first = last = at
    while first > 0 and siblings.match(region[first - 1]):
        first -= 1
    while last + 1 < len(region) and siblings.match(region[last + 1]):
        last += 1
    labels = [NUMBER.sub("", row[indent + 2 :]).strip() for row in region[first : last + 1]]
    return labels, at - first
