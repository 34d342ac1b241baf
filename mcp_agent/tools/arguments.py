"""A tool's arguments: their schema, and parsing with every problem at once, in one line."""

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from mcp_agent.errors import BadArguments

ModelT = TypeVar("ModelT", bound=BaseModel)


@cache
def schema_of_model(model: type[BaseModel]) -> Mapping[str, object]:
    """The JSON schema of a tool's arguments; making one takes longer than a whole call."""
    return model.model_json_schema()


def parse(model: type[ModelT], arguments: Mapping[str, object], *, tool: str) -> ModelT:
    """The arguments as the model reads them; raises `BadArguments`."""
    try:
        return model.model_validate(dict(arguments))
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        raise BadArguments(tool, problems) from None
