"""Secrets are taken out of a record before anything is made from it.

A secret is found whole, and in pieces of at least `PIECE` characters: a narrow screen breaks a token over two lines.
Every character becomes one mark, so that screens keep their shape.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import TypeVar, cast

from mcp_agent.scenarios.report.record import Frame

MARK = "•"
PIECE = 10
"""A shorter piece of a secret is no secret, and may be an ordinary word."""
SHORTEST = 6
"""A shorter value is not taken for a secret: hiding it would hide ordinary words everywhere."""

_LOOKS_SECRET = re.compile(r"\b(?:sk|pk|ghp|gho|xox[abp])[-_][A-Za-z0-9_\-]{12,}|(?<=Bearer )\S{8,}")
"""What is masked although nobody named it."""
_STYLE = re.compile("(\x1b\\[[0-9;:]*m)")

ValueT = TypeVar("ValueT")


def masked(value: ValueT, secrets: Iterable[str]) -> ValueT:
    """The same value, such as a `Run`, without these secrets in any text of it."""
    return cast("ValueT", _masked(value, _Masker(secrets)))


class _Masker:
    """Takes secrets out of texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= SHORTEST}, key=len, reverse=True)
        pieces = {secret[at : at + PIECE] for secret in known for at in range(max(1, len(secret) - PIECE + 1))}
        told = "|".join(re.escape(piece) for piece in sorted(pieces, key=len, reverse=True))
        # A look-ahead finds pieces that overlap.
        self._pieces = re.compile(f"(?=({told}))") if told else None
        self.text: Callable[[str], str] = lru_cache(maxsize=100_000)(self._text)
        """Screens repeat their lines, so what was masked once is remembered."""

    def _text(self, text: str) -> str:
        hidden = set(self._hidden(text))
        return "".join(MARK if at in hidden else letter for at, letter in enumerate(text)) if hidden else text

    def _hidden(self, text: str) -> Iterable[int]:
        for found in self._pieces.finditer(text) if self._pieces else ():
            yield from range(*found.span(1))
        for found in _LOOKS_SECRET.finditer(text):
            yield from range(*found.span())

    def styled(self, line: str) -> str:
        """A line whose styles may change in the middle of a secret."""
        parts = _STYLE.split(line)
        if len(parts) == 1:
            return self.text(line)
        plain = iter(self.text("".join(parts[::2])))
        shown = ["".join(next(plain) for _ in part) for part in parts[::2]]
        return "".join(f"{text}{style}" for text, style in zip(shown, [*parts[1::2], ""], strict=True))


def _masked(value: object, masker: _Masker) -> object:
    match value:
        case Frame():
            lines = tuple(masker.styled(line) for line in value.lines)
            return replace(value, lines=lines, title=masker.text(value.title))
        case str() if type(value) is str:
            return masker.text(value)
        case Mapping():
            return {masker.text(str(key)): _masked(each, masker) for key, each in value.items()}
        case list() | tuple():
            return type(value)(_masked(each, masker) for each in value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **{each.name: _masked(getattr(value, each.name), masker) for each in fields(value)})
        case _:
            return value
