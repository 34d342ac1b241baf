"""Whether two texts say the same, whatever a CLI does to how they are written.

CLIs strip the ends, wrap the middle, compose accents and drop characters that nobody sees.
"""

import unicodedata


def normal(text: str) -> str:
    """The text composed (NFC), without format characters such as joiners, direction marks, soft hyphens and tags."""
    return unicodedata.normalize("NFC", "".join(char for char in text if unicodedata.category(char) != "Cf"))


def same_words(one: str, other: str) -> bool:
    return normal(one).split() == normal(other).split()


def begins_with(whole: str, beginning: str) -> bool:
    """Whether a CLI could show this beginning of the whole text; the last word of it may be cut."""
    all_words, first = normal(whole).split(), normal(beginning).split()
    if not first:
        return False
    return all_words[: len(first) - 1] == first[:-1] and "".join(all_words[len(first) - 1 :]).startswith(first[-1])
