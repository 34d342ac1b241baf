"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Provider = Annotated[str, typer.Option("--provider", "-p", metavar="ID", help="Which CLI to run.")]
Directory = Annotated[Path, typer.Option("--directory", "-C", help="The working directory of the session.")]
AllowTool = Annotated[
    list[str] | None,
    typer.Option("--allow-tool", metavar="TOOL", help="A bridge tool that needs no permission prompt; repeatable."),
]
OnlyTools = Annotated[
    list[str] | None,
    typer.Option("--tool", metavar="NAME", help="Only these bridge tools; repeatable. Without it: all of them."),
]
Trust = Annotated[bool, typer.Option("--trust", help="The CLI may trust the working directory.")]
Model = Annotated[str | None, typer.Option("--model", help="The model, in the provider's own words.")]
PermissionMode = Annotated[
    str | None,
    typer.Option("--permission-mode", metavar="MODE", help="A permission mode of the provider; default: it asks."),
]
ModelEndpoint = Annotated[
    str | None,
    typer.Option(
        "--model-endpoint", metavar="URL", help="A model server other than the provider's: scheme://host:port"
    ),
]
ModelKeyVariable = Annotated[
    str | None,
    typer.Option("--model-key-variable", metavar="NAME", help="The variable that holds the endpoint's key."),
]
Deadline = Annotated[
    str | None,
    typer.Option(
        "--deadline", metavar="DURATION", help="Interrupt the turn when it takes longer, such as 30m; default: never."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
