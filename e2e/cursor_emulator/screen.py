"""The screen as rows, drawn as users of the program wrote it down."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.scripted_agent.screen import Frame
from adapters.scripted_agent.text import cells, visible, wrap
from adapters.scripted_agent.transcript import Entry

EMPTY, AFTER_A_TURN = "Plan, search, build anything", "Add a follow-up"
STOP = "ctrl+c to stop"
_DIM, _NOT_DIM = "\x1b[2m", "\x1b[22m"
_MOST_DRAFT_ROWS = 8
_LONGEST_SHOWN = 4000


@dataclass(frozen=True, slots=True)
class Menu:
    """A dialog before the first prompt: a box whose options carry their keys in brackets."""

    title: str
    text: Sequence[str]
    options: Sequence[str]
    selected: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A question in the composer's place, whose options carry their keys in parentheses."""

    heading: str
    question: str
    options: Sequence[str]
    selected: int = 0


@dataclass(frozen=True, slots=True)
class View:
    version: str
    place: str
    mode: str = ""
    entries: Sequence[Entry] = ()
    follow_ups: Sequence[str] = ()
    draft: str = ""
    working: str = ""
    """A word for the work; empty while nothing runs."""
    question: Question | None = None
    leaving: bool = False


def menu(shown: Menu, *, version: str, columns: int, rows: int) -> Frame:
    width = min(columns - 4, 74)
    options = [f"{'▶' if at == shown.selected else ' '} {label}" for at, label in enumerate(shown.options)]
    help_row = "Use arrow keys to navigate, Enter to select, or press the key shown"
    inside = ["", f"⚠ {shown.title}", "", *shown.text, "", *options, "", help_row, ""]
    box = [f" │ {row[:width].ljust(width)} │" for row in inside]
    lines = [f" ╭{'─' * (width + 2)}╮", *box, f" ╰{'─' * (width + 2)}╯", "", "  Cursor Agent", f"  v{version}"]
    return _frame(lines, rows, (0, 0))


def login(*, version: str, rows: int) -> Frame:
    return _frame(["", "  Cursor Agent", f"  v{version}", "", "  Press any key to log in..."], rows, (0, 0))


def conversation(view: View, *, columns: int, rows: int) -> Frame:
    """The conversation above, the composer or a question below."""
    bottom = _question(view.question, columns) if view.question else _composer(view, columns)
    head = ["  Cursor Agent", f"  v{view.version}", ""]
    above = [*head, *(row for entry in view.entries for row in _entry(entry, columns))]
    room = max(rows - len(bottom), 0)
    shown = above[-room:] if room else []
    lines = [*shown, *bottom]
    return _frame(lines, rows, (max(min(len(lines), rows) - 4, 0), 3))


def _composer(view: View, columns: int) -> list[str]:
    held = [f"    ↳ {_drawn(text.splitlines()[0])[: columns - 10]}" for text in view.follow_ups]
    overlay = [f"  Follow-ups ({len(held)})", *held, "  enter send now · ↑ select/edit", ""] if held else []
    spinner = [f" ⠠⠜ {view.working}  1.2k tokens", ""] if view.working else []
    first, *rest = _draft_rows(view, columns)
    footer = ["  Press Ctrl+C again to exit"] if view.leaving else []
    model = f"  Composer 2.5      {view.mode}".rstrip()
    return ["", *spinner, *overlay, first, *rest, "", *footer, model, f"  {view.place}"]


def _draft_rows(view: View, columns: int) -> list[str]:
    """While a turn runs the first row says at its end how to stop it."""
    room = max(columns - 4 - (len(STOP) + 2 if view.working else 0), 8)
    rows = [row for line in _drawn(view.draft).split("\n") for row in wrap(line, room)]
    if len(rows) > _MOST_DRAFT_ROWS:
        rows = [f"[Pasted text #1 +{view.draft.count(chr(10)) + 1} lines]"]
    stop = f"{' ' * max(room - sum(map(cells, rows[0])), 1)}{STOP}"
    if not view.draft:
        placeholder = AFTER_A_TURN if view.entries else EMPTY
        rows, stop = [f"{_DIM}{placeholder}{_NOT_DIM}"], f"{' ' * max(room - len(placeholder), 1)}{STOP}"
    first = f" {_DIM}→{_NOT_DIM} {rows[0]}{stop if view.working else ''}"
    return [first, *(f"   {row}" for row in rows[1:])]


def _question(shown: Question, columns: int) -> list[str]:
    options = [f"  {'→' if at == shown.selected else ' '} {label}" for at, label in enumerate(shown.options)]
    return ["─" * columns, f" {_drawn(shown.heading)[: columns - 2]}", f" {shown.question}", *options]


def _entry(entry: Entry, columns: int) -> Iterator[str]:
    match entry["type"]:
        case "user" | "assistant":
            yield from _fitted(str(entry["text"]), columns)
            yield ""
        case "tool_call":
            yield from _fitted(f"api-bridge: {entry['tool']} {entry['arguments']}", columns)
        case "tool_result":
            yield from _fitted(f"  {str(entry['text'])[:300]}", columns)
        case "turn_end" if entry.get("error"):
            yield from _fitted(f"Error: {entry['error']}", columns)
            yield ""


def _fitted(text: str, columns: int) -> Iterator[str]:
    width = max(columns - 4, 8)
    yield from (f"  {row}" for line in _drawn(text[-_LONGEST_SHOWN:]).split("\n") for row in wrap(line, width))


def _drawn(text: str) -> str:
    """A tab is some blanks; no other control character reaches the terminal."""
    return visible(text.replace("\t", "    "))


def _frame(lines: Sequence[str], rows: int, cursor: tuple[int, int]) -> Frame:
    return Frame([*lines, *[""] * max(rows - len(lines), 0)][-rows:], cursor)
