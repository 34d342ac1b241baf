"""How a text stays a prompt in Pi's composer. Facts were observed on version 1.6.0."""

_ESCAPE = "\\"
_COMMANDS = ("/", "!")
"""A command, a template or a skill; and a command line for the shell."""
_TRIMMED = "\ufeff"
"""White space for the CLI, which trims a prompt before it looks at its beginning."""


def guard(text: str) -> str:
    """A backslash before what would begin a command, and a space after a final backslash, which takes an Enter away."""
    begins = text.lstrip().lstrip(_TRIMMED).lstrip()
    if begins.startswith(_COMMANDS):
        start = text.index(begins[0])
        text = f"{text[:start]}{_ESCAPE}{text[start:]}"
    return f"{text} " if text.endswith(_ESCAPE) else text
