"""From a function's type hints to what its tool takes, and from raw arguments to keyword arguments."""

import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NotRequired, cast, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from mcp_agent.errors import BadArguments, BadConfiguration
from mcp_agent.tools.custom_running import message_of
from mcp_agent.tools.jsonable import NotJson, jsonable
from mcp_agent.tools.tool import CallContext

MOST_PROBLEMS = 20
"""Problems with the arguments of one call that are told."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What one function takes."""

    schema: Mapping[str, object]
    """The JSON schema of the arguments object."""
    defaults: Mapping[str, object]
    context_names: tuple[str, ...]
    """The parameters that take the `CallContext`; the model knows nothing of them."""
    adapter: "TypeAdapter[dict[str, Any]]"

    def validate(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        """Every keyword argument but the context, parsed; raises `BadArguments` with every problem at once."""
        try:
            return {**self.defaults, **self.adapter.validate_python(dict(arguments))}
        except ValidationError as error:
            problems = [_problem(fault["loc"], fault["msg"]) for fault in error.errors(include_url=False)]
            more = len(problems) - MOST_PROBLEMS
            shown = [*problems[:MOST_PROBLEMS], *([f"and {more} more"] if more > 0 else [])]
            raise BadArguments(tool, shown) from None
        except Exception as error:
            # A validator of the user's own may raise anything.
            raise BadArguments(tool, [f"checking them raised {type(error).__name__}: {_line(error)}"]) from error


def parameters_of(tool: str, function: Callable[..., Any]) -> Parameters:
    """What the function takes; raises `BadConfiguration` when its signature does not say it for JSON."""
    hints = _hints(tool, function)
    fields: dict[str, Any] = {}
    defaults: dict[str, object] = {}
    contexts: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        name, hint = parameter.name, hints.get(parameter.name)
        if problem := _unusable(parameter, hints):
            raise bad_tool(tool, problem)
        if hint is CallContext:
            contexts.append(name)
            continue
        fields[name] = hint
        if parameter.default is not parameter.empty:
            defaults[name] = parameter.default
            fields[name] = NotRequired[hint]
    adapter = _adapter(tool, fields)
    return Parameters(_schema(tool, adapter, defaults), defaults, tuple(contexts), adapter)


def bad_tool(tool: str, problem: str) -> BadConfiguration:
    """A tool that cannot be one, as it was written."""
    return BadConfiguration(f"tool {tool}", problem)


def _hints(tool: str, function: Callable[..., Any]) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except Exception as error:
        # Hints are code: a name that is not there, a call that raises.
        raise bad_tool(tool, f"its type hints cannot be read: {_line(error)}") from error


def _unusable(parameter: inspect.Parameter, hints: Mapping[str, object]) -> str | None:
    if parameter.kind not in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
        return f"the parameter {parameter} cannot be given by its name"
    if parameter.name not in hints:
        return f"the parameter {parameter.name} has no type hint"
    if CallContext in get_args(hints[parameter.name]):
        return f"the type hint of {parameter.name} must be CallContext alone"
    if isinstance(parameter.default, FieldInfo):
        return f"write the Field of {parameter.name} into its type hint: Annotated[..., Field(...)]"
    return None


def _adapter(tool: str, fields: dict[str, Any]) -> "TypeAdapter[dict[str, Any]]":
    """A typed dict takes any parameter name; a model's fields must not begin with `_` or be called `copy`."""
    arguments = TypedDict("Arguments", fields)  # type: ignore[misc]
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    try:
        return TypeAdapter(cast("type[dict[str, Any]]", arguments))
    except Exception as error:
        # Types of the user's own may run code here.
        raise bad_tool(tool, f"its parameters cannot be checked: {_line(error)}") from error


def _schema(tool: str, adapter: "TypeAdapter[dict[str, Any]]", defaults: Mapping[str, object]) -> Mapping[str, object]:
    try:
        schema = adapter.json_schema()
        for name, default in defaults.items():
            with suppress(NotJson):
                schema["properties"][name].setdefault("default", jsonable(default))
        json.dumps(schema, ensure_ascii=False, allow_nan=False).encode()
    except Exception as error:
        # One schema that JSON cannot hold would take the list of all tools with it.
        raise bad_tool(tool, f"its parameters have no JSON schema: {_line(error)}") from error
    schema.pop("title", None)
    return schema


def _problem(path: tuple[int | str, ...], message: str) -> str:
    where = ".".join(map(str, path))
    return " ".join(f"{where}: {message}".split()) if where else " ".join(message.split())


def _line(error: Exception) -> str:
    """The first line of what the error says: pydantic appends advice and addresses."""
    return message_of(error).strip().partition("\n")[0] or type(error).__name__
