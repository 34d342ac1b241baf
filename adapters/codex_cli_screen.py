"""What Codex's screen says. Facts were observed on version 0.171.0, at 60 to 200 columns.

Only the live region counts: the composer, which is the last row that begins with its sign, what stands right above it,
and its footer. Words in the conversation further up are never evidence. Dialogs are told apart in `codex_cli_dialogs`.
"""

import re
from collections.abc import Iterator, Sequence

from adapters.codex_cli_dialogs import dialog
from mcp_agent.adapter import Busy, Composer, PromptQueued, Ready, Screen, Signal

SHELL_MODE = "!"
"""Stands for the prompt sign while the composer holds a shell command instead of a prompt."""

_SIGN = re.compile(r"^[›!](?: |$)")
_CHIP = re.compile(r"^\[Pasted Content \d+ chars\](?: #\d+)?$")
_SPINNER = re.compile(r"^[\u2801-\u28ff] ")
_STATUS = re.compile(r"^[•◦] (?P<doing>\S.*?) \((?:\d+[hms] ?)+ • esc to interrupt\)")
_RETRYING = re.compile(r"^Reconnecting\.\.\.")
_REASON = re.compile(r"^ +└ (?!Tip: )(?P<reason>\S.*)$")
_HELD = ("• Messages to be submitted", "• Queued follow-up inputs")
_HELD_FOR_THIS_TURN = _HELD[0]
_ENTRY = "↳ "


def read(screen: Screen) -> Sequence[Signal]:
    """A dialog outranks the composer, since the CLI draws one instead of the other; busy outranks ready."""
    if asked := dialog(screen.lines):
        return [asked]
    at = _composer_row(screen.lines)
    if at is None:
        return []
    above = [*_blocks_above(screen.lines, at)]
    doing = _doing(screen, above)
    held = _held(above) if composer(screen) == Composer("") else ()
    return [doing or Ready(), *held]


def composer(screen: Screen) -> Composer | None:
    """The draft. A chip stands for a long paste; ghost text is dim.

    The sign of the shell mode belongs to the draft: whatever is typed there would be run.
    """
    at = _composer_row(screen.lines)
    if at is None or dialog(screen.lines):
        return None
    end = _footer_row(screen.lines, at)
    rows = [line[2:] for line in screen.lines[at:end]]
    draft = "\n".join(rows).strip()
    if draft and _is_ghost(draft, screen.dim_lines[at:end]):
        draft = ""
    if screen.lines[at].startswith(SHELL_MODE):
        draft = f"{SHELL_MODE} {draft}".rstrip()
    return Composer(draft, is_chip=bool(_CHIP.match(draft)))


def _composer_row(lines: Sequence[str]) -> int | None:
    """The last sign, with nothing below it that begins at the first column: everything of the composer is indented."""
    for row in reversed(range(len(lines))):
        if _SIGN.match(lines[row]):
            return row
        if lines[row][:1].strip():
            return None
    return None


def _footer_row(lines: Sequence[str], at: int) -> int:
    """Where the rows below the draft begin, which are set off by a blank one; the end when there are none."""
    end = len(lines)
    while end > at + 1 and not lines[end - 1]:
        end -= 1
    start = end
    while start > at + 1 and lines[start - 1]:
        start -= 1
    return start if start > at + 1 else end


def _blocks_above(lines: Sequence[str], at: int) -> Iterator[Sequence[str]]:
    """What stands above the composer, the nearest block first; blocks are set off by blank rows."""
    end = at
    while end > 0:
        while end > 0 and not lines[end - 1]:
            end -= 1
        start = end
        while start > 0 and lines[start - 1]:
            start -= 1
        if start < end:
            yield lines[start:end]
        end = start


def _doing(screen: Screen, above: Sequence[Sequence[str]]) -> Busy | None:
    """What the status row says, which is the first thing above the composer but for held prompts.

    While text streams there is no such row, and the spinner of the title is the only mark.
    """
    block = next((block for block in above if not block[0].startswith(_HELD)), ("",))
    status = _STATUS.match(block[0])
    if status is None:
        return Busy() if _SPINNER.match(screen.title) else None
    if not _RETRYING.match(status["doing"]):
        return Busy()
    reasons = [found["reason"] for row in block[1:] if (found := _REASON.match(row))]
    return Busy(reason=f"reconnecting: {reasons[0]}" if reasons else "reconnecting")


def _held(above: Sequence[Sequence[str]]) -> Iterator[PromptQueued]:
    """Prompts that the running turn takes in after its next tool call; of long ones only the beginning is shown."""
    for block in above:
        if not block[0].startswith(_HELD_FOR_THIS_TURN):
            continue
        entry: list[str] = []
        for row in block:
            text = row.strip()
            if text.startswith(_ENTRY):
                if entry:
                    yield PromptQueued("\n".join(entry))
                entry = [text.removeprefix(_ENTRY)]
            elif entry and text != "…":
                entry.append(text)
        if entry:
            yield PromptQueued("\n".join(entry))


def _is_ghost(draft: str, dim_rows: Sequence[str]) -> bool:
    dim = sum(len(row.replace(" ", "")) for row in dim_rows)
    return dim > 0 and dim >= len("".join(draft.split())) - 1
