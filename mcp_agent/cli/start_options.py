"""How a session is started, said once for every command that starts one."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar, cast, get_type_hints

import typer

from mcp_agent.cli.options import Model, Provider

P = ParamSpec("P")
OptionsT = TypeVar("OptionsT", bound="CommonOptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonOptions:
    """The options of everything that starts a session; each field is one of the command line's."""

    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env",
            metavar="NAME[=VALUE]",
            help="A variable that the session sees besides the usual ones; a NAME alone takes yours; repeatable.",
        ),
    ] = None
    allow_tool: Annotated[
        list[str] | None,
        typer.Option("--allow-tool", metavar="TOOL", help="A bridge tool that needs no permission prompt; repeatable."),
    ] = None
    tool: Annotated[
        list[str] | None,
        typer.Option("--tool", metavar="NAME", help="Only these bridge tools; repeatable. Without it: all of them."),
    ] = None
    trust: Annotated[bool, typer.Option("--trust", help="The CLI may trust the working directory.")] = False
    model: Model = None
    permission_mode: Annotated[
        str | None,
        typer.Option("--permission-mode", metavar="MODE", help="A permission mode of the provider; default: it asks."),
    ] = None
    model_endpoint: Annotated[
        str | None,
        typer.Option(
            "--model-endpoint", metavar="URL", help="A model server other than the provider's: scheme://host:port"
        ),
    ] = None
    model_key_variable: Annotated[
        str | None,
        typer.Option("--model-key-variable", metavar="NAME", help="The variable that holds the endpoint's key."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions(CommonOptions):
    """The options of a start."""

    provider: Provider
    directory: Annotated[
        Path, typer.Option("--directory", "--cwd", "-C", help="The working directory of the session.")
    ] = Path()


def takes_start_options(command: Callable[Concatenate[OptionsT, P], None]) -> Callable[..., None]:
    """The command with one option per field of its first parameter in that one's place."""
    first, *own = inspect.signature(command, eval_str=True).parameters.values()
    kind: type[CommonOptions] = first.annotation

    @functools.wraps(command)
    def run(**values: Any) -> None:
        options = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        cast("Callable[..., None]", command)(options, **values)

    parameters = sorted([*_parameters(kind), *own], key=lambda parameter: parameter.kind)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    cast("Any", run).__signature__ = inspect.Signature(parameters)
    return run


def _parameters(kind: type[CommonOptions]) -> list[inspect.Parameter]:
    """Those of the class itself stand before what it inherits."""
    hints = get_type_hints(kind, include_extras=True)
    inherited = {field.name for field in fields(CommonOptions)}
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in sorted(fields(kind), key=lambda field: field.name in inherited)
    ]
