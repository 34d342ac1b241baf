"""What the command line's parser refuses, in one line."""

from typing import Any, cast

import typer

CLICK_USAGE = cast("type[Exception]", typer.BadParameter.__base__)
"""Click's `UsageError`, of whichever Click typer brings along."""


def is_help(error: Exception) -> bool:
    """Whether nothing was asked for. The help was printed when the error was made."""
    return type(error).__name__ == "NoArgsIsHelpError"


def usage_sentence(error: Exception) -> str:
    """What is wrong with the command line, and where to read what it may be."""
    found = cast("Any", error)
    problem = str(found.format_message()).strip().rstrip(".")
    return f"{problem}; see `{found.ctx.command_path} --help`" if found.ctx else problem
