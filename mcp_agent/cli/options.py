"""The options that several commands share."""

from typing import Annotated

import typer

Provider = Annotated[str, typer.Option("--provider", "-p", metavar="ID", help="Which CLI to run.")]
Model = Annotated[str | None, typer.Option("--model", help="The model, in the provider's own words.")]
Deadline = Annotated[
    str | None,
    typer.Option(
        "--deadline", metavar="DURATION", help="Interrupt the turn when it takes longer, such as 30m; default: never."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
