"""The screen as rows: the conversation, a rule, the composer or a dialog, a rule, the footer. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.scripted_agent import wording
from adapters.scripted_agent.text import cells, visible, wrap
from adapters.scripted_agent.transcript import Entry

MOST_COMPOSER_ROWS = 10
"""A draft that needs more rows is shown as a chip."""
MOST_ENTRY_CHARACTERS = 4000
"""Of a longer entry of the conversation, the beginning and the end are shown."""
LONGEST_SHOWN_RESULT = 300


@dataclass(frozen=True, slots=True)
class Choice:
    """A question with options; `selected` is an index."""

    question: str
    details: Sequence[str]
    options: Sequence[str]
    selected: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """All that is on the screen."""

    entries: Sequence[Entry] = ()
    queued: Sequence[str] = ()
    draft: str = ""
    choice: Choice | None = None
    footer: str = wording.READY
    status: str = ""
    """A row above the box, such as a spinner."""
    ghost: str = ""
    """Dim words in an empty composer."""
    more_footer: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows of a size of the screen, and where the cursor stands: row and column from zero."""

    rows: Sequence[str]
    cursor: tuple[int, int]


def render(view: View, *, columns: int, rows: int) -> Frame:
    """Exactly `rows` rows of at most `columns` cells."""
    rule = wording.RULE * columns
    box = choice_rows(view.choice, columns) if view.choice else draft_rows(view.draft, columns)
    if box == [wording.PROMPT] and view.ghost:
        box = [f"{wording.PROMPT}{wording.DIM}{view.ghost[: columns - len(wording.PROMPT)]}{wording.NOT_DIM}"]
    queued = [row for text in view.queued for row in _fitted(wording.QUEUED, text, columns)[:2]]
    status = [view.status[:columns]] if view.status else []
    footer = [f"  {row}"[:columns] for row in (view.footer, *view.more_footer)]
    bottom = [*status, *queued, rule, *box, rule, *footer][-rows:]
    above = _conversation(view.entries, columns=columns, rows=rows - len(bottom))
    below = len(footer) + 1
    last = bottom[-below - 1] if len(bottom) > below else ""
    column = min(sum(map(cells, last)), columns - 1)
    return Frame([*above, *bottom], (max(rows - below - 1, 0), column))


def draft_rows(draft: str, columns: int) -> list[str]:
    """The composer: each row says whether it begins the draft, a new line, or the rest of a line."""
    lines = draft.split("\n")
    if len(lines) > MOST_COMPOSER_ROWS or len(draft) > columns * MOST_COMPOSER_ROWS:
        return [wording.PROMPT + chip(draft)]
    rows = []
    for number, line in enumerate(lines):
        first, *rest = wrap(visible(line), max(columns - len(wording.PROMPT), 1))
        rows.append((wording.NEW_LINE if number else wording.PROMPT) + first)
        rows += [wording.WRAPPED + row for row in rest]
    return rows if len(rows) <= MOST_COMPOSER_ROWS else [wording.PROMPT + chip(draft)]


def chip(draft: str) -> str:
    """What stands for a long draft."""
    return f"[Draft of {draft.count(chr(10)) + 1} lines, {len(draft)} characters]"


def choice_rows(choice: Choice, columns: int) -> list[str]:
    options = [
        f"{wording.SELECTED if number == choice.selected else wording.NOT_SELECTED}{number + 1}. {label}"
        for number, label in enumerate(choice.options)
    ]
    details = [row for detail in choice.details for row in _fitted("  ", detail, columns)[:3]]
    return [visible(choice.question)[:columns], *details, *options]


def _conversation(entries: Sequence[Entry], *, columns: int, rows: int) -> list[str]:
    """As many of the last rows as fit, below a title while there is room for it."""
    shown: list[str] = []
    for entry in reversed(entries):
        if len(shown) >= rows:
            break
        shown = [*_entry_rows(entry, columns), *shown]
    title = [wording.TITLE[:columns], ""] if len(shown) + 2 <= rows else []
    shown = [*title, *(shown[-rows:] if rows > 0 else [])]
    return [*shown, *[""] * (rows - len(shown))]


def _entry_rows(entry: Entry, columns: int) -> Iterator[str]:
    match entry["type"]:
        case "user":
            yield from _fitted(wording.PROMPT, str(entry["text"]), columns)
        case "assistant":
            yield from _fitted("  ", str(entry["text"]), columns)
            yield ""
        case "tool_call":
            yield from _fitted("· ", f"calling {entry['tool']} {entry['arguments']}", columns)
        case "tool_result":
            yield from _fitted("  → ", str(entry["text"])[:LONGEST_SHOWN_RESULT], columns)
        case "turn_end" if entry.get("outcome") != "completed":
            yield from _fitted("· ", f"{entry['outcome']} {entry.get('error') or ''}".rstrip(), columns)
            yield ""


def _fitted(mark: str, text: str, columns: int) -> list[str]:
    """The text wrapped behind a mark, further rows indented as far."""
    if len(text) > MOST_ENTRY_CHARACTERS:
        half = MOST_ENTRY_CHARACTERS // 2
        text = f"{text[:half]} … {text[-half:]}"
    width = max(columns - len(mark), 1)
    rows = [row for line in visible(text).split("\n") for row in wrap(line, width)]
    return [(" " * len(mark) if number else mark) + row for number, row in enumerate(rows)]
