"""The text protocol of tmux's control mode: bytes in, events out; and words made safe to send.

Source: tmux(1), "CONTROL MODE", and its `control.c` and `cmd-parse.y`, version 3.3a.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reply:
    """What one command printed. `ours` is false for commands that this client did not send."""

    number: int
    lines: tuple[str, ...]
    ok: bool
    ours: bool = True


@dataclass(frozen=True, slots=True)
class Output:
    """A program wrote to its pane. What it wrote is not kept: screens are captured."""

    pane_id: str
    size: int
    """Bytes as control mode tells them, with its escapes."""


@dataclass(frozen=True, slots=True)
class Notification:
    """Anything else that tmux tells, by its name without `%`."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exit:
    """tmux ends this connection."""

    reason: str


Event = Reply | Output | Notification | Exit

_OUTPUT = (b"%output ", b"%extended-output ")
"""The second is what a client gets whose panes may be paused."""
_MARK = re.compile(rb"%(begin|end|error) (\d+) (\d+) (\d+)")


class ControlParser:
    """An incremental parser: however the bytes are cut, the events are the same."""

    def __init__(self) -> None:
        self._rest = b""
        self._open: tuple[bytes, bytes, bool] | None = None
        self._lines: list[str] = []

    def feed(self, data: bytes) -> list[Event]:
        """The events that are complete with these bytes."""
        *complete, self._rest = (self._rest + data).split(b"\n")
        return [event for line in complete if (event := self._line(line))]

    def _line(self, line: bytes) -> Event | None:
        if self._open is None and line.startswith(_OUTPUT):
            _, pane_id, *data = line.split(b" ", 2)
            return Output(_text(pane_id), sum(map(len, data)))
        mark = _MARK.fullmatch(line) if line.startswith(b"%") else None
        if self._open is None:
            return self._outside(line, mark)
        time, number, ours = self._open
        # Printed text may look like an end; only this block's own time and number close it.
        if mark and mark[1] != b"begin" and (mark[2], mark[3]) == (time, number):
            reply = Reply(int(number), tuple(self._lines), mark[1] == b"end", ours)
            self._open, self._lines = None, []
            return reply
        self._lines.append(_text(line))
        return None

    def _outside(self, line: bytes, mark: "re.Match[bytes] | None") -> Event | None:
        if mark:
            if mark[1] == b"begin":
                self._open = (mark[2], mark[3], mark[4] != b"0")
            return None
        if not line.startswith(b"%"):
            return None
        if line.startswith(b"%exit"):
            return Exit(_text(line[5:]).strip())
        name, *arguments = _text(line[1:]).split(" ")
        return Notification(name, tuple(arguments))


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


LONGEST_WORD = 16 * 1024
"""In characters; tmux reads a line byte by byte, and answers nobody meanwhile."""

_SPECIAL = re.compile(r'[\x01-\x1f\x7f"\\$~]')


def quote(argument: str) -> str:
    """One word of a control-mode line. Raises `ValueError` for a NUL or a lone surrogate, which tmux cannot hold.

    Formats (`#{…}`) are not touched: the commands that expand them do so after the words are split.
    """
    if "\0" in argument:
        raise ValueError("tmux cannot take a NUL")
    argument.encode()
    return f'"{_SPECIAL.sub(_escape, argument)}"'


def _escape(found: "re.Match[str]") -> str:
    character = found[0]
    return f"\\{character}" if character in '"\\$~' else f"\\{ord(character):03o}"


_ESCAPED = re.compile(r"\\([0-7]{3}|.)")


def unescape(line: str) -> str:
    """A line as it was before tmux made its control characters, backslashes and dollar signs visible."""
    return _ESCAPED.sub(_unescape, line)


def _unescape(found: "re.Match[str]") -> str:
    return chr(int(found[1], 8)) if len(found[1]) > 1 else found[1]


def fits_on_a_line(text: str) -> bool:
    """Whether a text may be a word of a control-mode line: no other answer waits long for it, and it holds no NUL."""
    return len(text) <= LONGEST_WORD and "\0" not in text


def join(command: Sequence[str]) -> str:
    """One command as control mode takes it."""
    return " ".join(map(quote, command))


def literal(text: str) -> str:
    """Text that comes out of tmux's format expansion as it went in."""
    return re.sub(r"#+(?!\[|#)", lambda run: run[0] * 2, text)
