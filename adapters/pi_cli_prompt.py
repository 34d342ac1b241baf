"""How a text stays a prompt in Pi's composer. Facts were observed on version 1.6.0."""

import re

_COMMAND = re.compile(r"(?P<blank>[\s\ufeff]*)(?P<sign>[/!])")
"""A command, a template or a skill; or a command line for the shell. The CLI trims a prompt before it looks."""


def guard(text: str) -> str:
    """A backslash before what would begin a command, and a space after a final backslash, which takes an Enter away."""
    if found := _COMMAND.match(text):
        text = f"{found['blank']}\\{text[found.start('sign') :]}"
    return f"{text} " if text.endswith("\\") else text
