"""Whether one text is what a terminal made of another.

CLIs wrap and strip, compose accents, and draw over what stands behind an emoji, such as its skin tone. Terminals draw
no character that is not assigned, and none that has no width; of the marks and the joined characters in one cell tmux
keeps as many as fit into 21 bytes.
"""

import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

SHORTEST_END = 40
"""Fewer characters could be the end of our text by chance, typed by somebody else."""

_NEVER_DRAWN = {"Cf", "Cn", "Cs"}
_JOINER = "\u200d"
_SKIN_TONES = frozenset(map(chr, range(0x1F3FB, 0x1F400)))


class _Character(NamedTuple):
    shape: str
    may_vanish: bool
    """It belongs to the one before it, and there may be no room for it."""


def is_drawing(drawn: str, meant: str) -> bool:
    """Whether this is the whole text as drawn, or an end of it that is long enough to be told by."""
    left, length = _from_the_end(meant), 0
    for seen in _from_the_end(drawn):
        length += 1
        if not _find(seen.shape, left):
            return False
    return length >= SHORTEST_END or not _is_sure(left)


def is_visible(text: str) -> bool:
    """Whether something of this text is on the screen, whatever the terminal."""
    return _is_sure(_from_the_end(text))


def _find(shape: str, left: Iterator[_Character]) -> bool:
    """Go on to this shape, over nothing but what may have vanished."""
    for character in left:
        if character.shape == shape:
            return True
        if not character.may_vanish:
            return False
    return False


def _is_sure(characters: Iterator[_Character]) -> bool:
    return any(not character.may_vanish for character in characters)


def _from_the_end(text: str) -> Iterator[_Character]:
    """What may be drawn of a text, without blanks, last first: a long text is not read any further than it must be."""
    apart = unicodedata.normalize("NFD", text)
    for place in range(len(apart) - 1, -1, -1):
        char = apart[place]
        category = unicodedata.category(char)
        if not char.isspace() and category not in _NEVER_DRAWN:
            joined = place > 0 and apart[place - 1] == _JOINER
            yield _Character(char, may_vanish=joined or category.startswith("M") or char in _SKIN_TONES)
