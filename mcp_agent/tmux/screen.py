"""What `capture-pane -e` printed, as plain lines and as the same lines with only their dim characters."""

import re
from collections.abc import Iterator, Sequence

_TOKEN = re.compile(
    r"\x1b\[(?P<sgr>[0-9;:]*)m"
    r"|\x1b\[[0-9;:?]*[A-Za-z]"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|(?P<shift>[\x0e\x0f])"
    r"|(?P<character>.)",
    re.DOTALL,
)
_LINES = str.maketrans("`afgijklmnopqrstuvwxyz{|}~", "◆▒°±␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
"""The VT100 line-drawing set, which tmux prints between SO and SI."""


class _Pen:
    """What the escape sequences so far say about the next character; tmux carries it over line ends."""

    def __init__(self) -> None:
        self.dim = False
        self.drawing = False

    def apply(self, codes: str) -> None:
        fields = iter(codes.split(";"))
        for code in fields:
            if code in ("", "0", "22"):
                self.dim = False
            elif code == "2":
                self.dim = True
            elif code in ("38", "48", "58"):
                # The fields of a colour are not attributes: 5;N or 2;R;G;B.
                for _ in range(1 if next(fields, "") == "5" else 3):
                    next(fields, "")


def read_screen(printed: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The plain lines and the dim ones, right-stripped, with plain spaces for hard ones."""
    pen = _Pen()
    pairs = [_line(line, pen) for line in printed]
    return tuple(plain for plain, _ in pairs), tuple(dim for _, dim in pairs)


def styled(printed: Sequence[str]) -> tuple[str, ...]:
    """The lines with their styles (SGR) and with no other control: line drawing as the characters it shows."""
    pen = _Pen()
    return tuple("".join(_shown(line, pen)) for line in printed)


def _shown(line: str, pen: _Pen) -> Iterator[str]:
    for token in _TOKEN.finditer(line):
        if token["sgr"] is not None:
            yield token[0]
        elif shift := token["shift"]:
            pen.drawing = shift == "\x0e"
        elif (character := token["character"]) and (character >= " " and character != "\x7f"):
            yield character.translate(_LINES) if pen.drawing else character.replace("\xa0", " ")


def _line(line: str, pen: _Pen) -> tuple[str, str]:
    if "\x1b" not in line and "\x0e" not in line and not pen.drawing:
        plain = line.replace("\xa0", " ").rstrip()
        return plain, plain if pen.dim else ""
    shown: list[str] = []
    dim: list[str] = []
    for token in _TOKEN.finditer(line):
        if token["sgr"] is not None:
            pen.apply(token["sgr"])
        elif shift := token["shift"]:
            pen.drawing = shift == "\x0e"
        elif character := token["character"]:
            glyph = character.translate(_LINES) if pen.drawing else character.replace("\xa0", " ")
            shown.append(glyph)
            dim.append(glyph if pen.dim else " ")
    return "".join(shown).rstrip(), "".join(dim).rstrip()
