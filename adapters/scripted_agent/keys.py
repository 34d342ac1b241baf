"""What a terminal sends, as keys: pure, and fed with bytes in any pieces."""

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum


class Key(StrEnum):
    ENTER = "enter"
    ESCAPE = "escape"
    UP = "up"
    DOWN = "down"
    BACKSPACE = "backspace"
    CLEAR = "ctrl-u"
    BREAK = "ctrl-c"
    END = "ctrl-d"


@dataclass(frozen=True, slots=True)
class Typed:
    """Characters that were typed."""

    text: str


@dataclass(frozen=True, slots=True)
class Pasted:
    """One bracketed paste: text, whatever it looks like."""

    text: str


KeyPress = Key | Typed | Pasted

_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[A-Za-z])")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?\Z")
_PLAIN = re.compile(r"[^\x00-\x1f\x7f]+")
_ARROWS = {"\x1b[A": Key.UP, "\x1b[B": Key.DOWN, "\x1bOA": Key.UP, "\x1bOB": Key.DOWN}
_CONTROLS: dict[str, KeyPress] = {
    "\r": Key.ENTER,
    "\n": Typed("\n"),
    "\t": Typed("\t"),
    "\x03": Key.BREAK,
    "\x04": Key.END,
    "\x08": Key.BACKSPACE,
    "\x15": Key.CLEAR,
    "\x7f": Key.BACKSPACE,
}


class KeyParser:
    """Keeps what is not complete yet."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._text = ""
        self._paste: list[str] | None = None

    @property
    def unfinished(self) -> bool:
        """An escape character waits for what follows it: alone it is the Escape key."""
        return self._paste is None and self._text.startswith("\x1b")

    def feed(self, data: bytes) -> list[KeyPress]:
        """The keys that are complete now."""
        self._text += self._decode(data)
        found: list[KeyPress] = []
        while self._text:
            before = self._text
            found += self._in_paste() if self._paste is not None else self._next()
            if self._text == before:
                break
        return found

    def flush(self) -> list[KeyPress]:
        """Nothing follows: an unfinished escape was the Escape key."""
        if not self.unfinished:
            return []
        self._text = ""
        return [Key.ESCAPE]

    def _in_paste(self) -> list[KeyPress]:
        """Collects until the end mark; a part of the mark at the end of a piece stays in the buffer."""
        text, mark, rest = self._text.partition(_PASTE_ENDS)
        pieces = self._paste if self._paste is not None else []
        if mark:
            self._paste, self._text = None, rest
            return [Pasted(_line_feeds("".join([*pieces, text])))]
        kept = next((n for n in range(len(_PASTE_ENDS) - 1, 0, -1) if text.endswith(_PASTE_ENDS[:n])), 0)
        pieces.append(text[: len(text) - kept])
        self._text = text[len(text) - kept :]
        return []

    def _next(self) -> list[KeyPress]:
        if self._text.startswith(_PASTE_BEGINS):
            self._paste = []
            return self._take(len(_PASTE_BEGINS))
        if plain := _PLAIN.match(self._text):
            return self._take(plain.end(), Typed(plain[0]))
        if self._text[0] != "\x1b":
            return self._take(1, _CONTROLS.get(self._text[0]))
        if sequence := _SEQUENCE.match(self._text):
            return self._take(sequence.end(), _ARROWS.get(sequence[0]))
        return [] if _UNFINISHED.match(self._text) else self._take(1, Key.ESCAPE)

    def _take(self, length: int, press: KeyPress | None = None) -> list[KeyPress]:
        self._text = self._text[length:]
        return [] if press is None else [press]


def _line_feeds(text: str) -> str:
    """A terminal pastes a clipboard's lines with carriage returns; text with line feeds stays as it is."""
    return text if "\n" in text else text.replace("\r", "\n")
