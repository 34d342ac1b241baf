"""The options that several commands share."""

from datetime import timedelta
from typing import Annotated

import typer

from mcp_agent.durations import format_duration, parse_duration

Provider = Annotated[str, typer.Option("--provider", "-p", metavar="ID", help="Which CLI to run.")]
Model = Annotated[str | None, typer.Option("--model", help="The model, in the provider's own words.")]
Deadline = Annotated[
    str | None,
    typer.Option(
        "--deadline", metavar="DURATION", help="Interrupt the turn when it takes longer, such as 30m; default: never."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
WaitTimeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="How long to wait, such as 10m; 0s only looks.")
]
LONGEST_WAIT = timedelta(days=7)


def wait_limit(text: str) -> timedelta:
    """How long a `--timeout` means to wait."""
    try:
        limit = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if not timedelta(0) <= limit <= LONGEST_WAIT:
        raise typer.BadParameter(f"{text} is not between 0s and {format_duration(LONGEST_WAIT)}")
    return limit
