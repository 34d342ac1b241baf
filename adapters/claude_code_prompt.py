"""How a text stays a prompt in Claude Code's composer. Facts were observed on version 2.1.332."""

import unicodedata

_MODES = ("!", "#", "@")
_EXIT_WORDS = frozenset({"exit", "quit", ":q", ":q!", ":wq", ":wq!"})
"""A prompt of nothing else ends the CLI."""
_ESCAPE = "\\"


def guard(text: str) -> str:
    """A space keeps `!`, `#` and `@` from beginning a mode, and a final backslash from making Enter a new line.

    White space before a `/` or an exit word changes nothing, and the CLI takes invisible characters out before it
    looks. A visible character keeps them a prompt: the backslash.
    """
    seen = "".join(filter(_is_visible, text))
    words = seen.strip()
    if words.startswith("/") or words.lower() in _EXIT_WORDS:
        start = text.index(words[0])
        text = f"{text[:start]}{_ESCAPE}{text[start:]}"
    elif seen.startswith(_MODES):
        text = f" {text}"
    return f"{text} " if seen.endswith(_ESCAPE) else text


def _is_visible(character: str) -> bool:
    return character.isspace() or not unicodedata.category(character).startswith("C")
