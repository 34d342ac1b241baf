"""Whether two texts say the same, whatever a CLI does to how they are written.

CLIs strip the ends, wrap the middle, compose accents and drop characters that nobody sees.
"""

import unicodedata


def normal(text: str) -> str:
    """The text composed (NFC), without format characters such as joiners, direction marks, soft hyphens and tags."""
    return unicodedata.normalize("NFC", "".join(char for char in text if unicodedata.category(char) != "Cf"))


def same_words(one: str, other: str) -> bool:
    return normal(one).split() == normal(other).split()


def without_blanks(text: str) -> str:
    """What is left for comparing with a text that was wrapped somewhere."""
    return "".join(normal(text).split())
