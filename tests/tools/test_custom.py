"""A function with type hints is a tool: what it says of itself, what it takes, and how long it is waited for."""

import functools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, Field

from mcp_agent.errors import BadArguments, BadConfiguration
from mcp_agent.tools.custom import Arguments, CallContext, CustomTool, tool
from mcp_agent.tools.tool import Tool, declared_wait


class SomethingOfTheUsers: ...


class Article(BaseModel):
    title: str
    tags: list[str] = []


@tool
def publish(
    article: Article,
    context: CallContext,
    mode: Literal["draft", "final"] = "draft",
    copies: Annotated[int, Field(gt=0, description="How many to print.")] = 1,
    *,
    schema: date | None = None,
) -> str:
    """Publish an article.

    Twice does no good.
    """
    return f"{context.session_id}: {article.title}, {mode}, {copies}, {schema}"


def waits(wait: Any) -> timedelta | None:
    """What a tool with this declaration is waited for when its argument is 3."""

    @tool(wait=wait)
    def build(minutes: int = 2) -> None: ...

    return declared_wait(build, build.validate({"minutes": 3}))


def test_a_tool_is_what_the_server_takes_for_one() -> None:
    as_seen_by_the_server: Tool[Arguments] = publish

    assert (publish.name, publish.category) == ("publish", "custom")
    assert as_seen_by_the_server.description == "Publish an article.\n\nTwice does no good."


def test_the_decorated_function_can_still_be_called() -> None:
    @tool
    def double(number: int) -> int:
        return number * 2

    assert double(21) == 42
    assert double.description == "double"


def test_the_schema_says_types_descriptions_and_defaults_and_no_context() -> None:
    schema: Any = publish.input_schema

    assert list(schema["properties"]) == ["article", "mode", "copies", "schema"]
    assert schema["required"] == ["article"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["copies"]["description"] == "How many to print."
    assert schema["properties"]["mode"] == {
        "default": "draft",
        "enum": ["draft", "final"],
        "title": "Mode",
        "type": "string",
    }


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    @tool
    def ping() -> str:
        return "pong"

    assert ping.input_schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert ping.validate({}) == {}


def test_a_default_that_json_cannot_hold_is_not_told_and_still_used() -> None:
    everything = frozenset({"a"})

    @tool
    def select(names: frozenset[str] = everything) -> None: ...

    assert "default" not in json.dumps(select.input_schema)
    assert select.validate({}) == {"names": everything}


def test_arguments_are_parsed_to_what_the_hints_say() -> None:
    parsed = publish.validate({"article": {"title": "On Time"}, "schema": "2026-01-02"})

    assert parsed == {"article": Article(title="On Time"), "mode": "draft", "copies": 1, "schema": date(2026, 1, 2)}


def test_all_problems_with_the_arguments_are_told_in_one_line() -> None:
    with pytest.raises(BadArguments) as refused:
        publish.validate({"article": {"tags": 1}, "copies": 0, "context": {}, "extra": 1})

    told = str(refused.value)
    assert "\n" not in told
    for place in ("article.title: ", "article.tags: ", "copies: ", "context: ", "extra: "):
        assert place in told


def test_of_very_many_problems_the_first_are_told_and_the_others_counted() -> None:
    with pytest.raises(BadArguments) as refused:
        publish.validate({"article": {"title": ""}, **{f"extra{number}": 1 for number in range(50)}})

    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1] == "and 30 more"


def test_a_validator_of_the_users_that_breaks_refuses_the_call() -> None:
    def broken(value: str) -> str:
        raise LookupError("no\nsuch table")

    @tool
    def look_up(key: Annotated[str, AfterValidator(broken)]) -> None: ...

    with pytest.raises(BadArguments, match="checking them raised LookupError: no; the call was not started"):
        look_up.validate({"key": "a"})


def test_read_only_means_that_doing_it_twice_is_harmless() -> None:
    reads = tool(read_only=True)(lambda_named("reads"))

    assert (reads.read_only, reads.idempotent) == (True, True)
    assert reads.annotations["readOnlyHint"] is True
    assert reads.annotations["destructiveHint"] is False
    assert (publish.read_only, publish.idempotent) == (False, False)


def lambda_named(name: str) -> Callable[[], None]:
    def function() -> None: ...

    function.__name__ = name
    return function


@pytest.mark.contract("W2")
def test_a_wait_is_a_value_or_a_function_of_the_arguments_and_their_defaults() -> None:
    assert waits(timedelta(hours=1)) == timedelta(hours=1)
    assert waits(lambda arguments: timedelta(minutes=arguments["minutes"])) == timedelta(minutes=3)
    assert waits(None) is None


@pytest.mark.contract("W2")
@pytest.mark.parametrize(
    "nonsense", [5, "90m", timedelta(0), timedelta(-1), float("inf"), lambda _: 1 / 0, lambda _: "soon"]
)
def test_a_wait_that_raises_or_makes_no_sense_leaves_the_default(nonsense: Any) -> None:
    assert waits(nonsense) is None


@pytest.mark.contract("T6")
@pytest.mark.parametrize(
    ("options", "long_running"),
    [
        ({}, False),
        ({"wait": timedelta(minutes=4)}, False),
        ({"wait": timedelta(minutes=5)}, True),
        ({"wait": lambda _: timedelta(minutes=1)}, True),
        ({"long_running": True}, True),
    ],
)
def test_a_tool_that_may_wait_long_is_long_running(options: dict[str, Any], long_running: bool) -> None:
    assert tool(**options)(lambda_named("build")).long_running is long_running


# --- what cannot be a tool -------------------------------------------------------------------------------------------


def no_hint(text) -> None: ...  # type: ignore[no-untyped-def]


def some(*texts: str) -> None: ...


def named(**texts: str) -> None: ...


def positional(text: str, /) -> None: ...


def unknown_name(text: "Missing") -> None: ...  # type: ignore[name-defined] # noqa: F821


def field_as_default(number: int = Field(3, gt=0)) -> None: ...


def perhaps_a_context(context: CallContext | None = None) -> None: ...


def no_schema(call: Callable[[], None]) -> None: ...


def unknown_type(iterator: SomethingOfTheUsers) -> None: ...


def description_of_no_text(number: Annotated[int, Field(description="\ud800")]) -> None: ...


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


def half_a_character() -> None: ...


half_a_character.__doc__ = "\ud800"


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (no_hint, "the parameter text has no type hint"),
        (some, "the parameter *texts: str cannot be given by its name"),
        (named, "the parameter **texts: str cannot be given by its name"),
        (positional, "the parameter text: str cannot be given by its name"),
        (unknown_name, "its type hints cannot be read: name 'Missing' is not defined"),
        (field_as_default, "write the Field of number into its type hint"),
        (perhaps_a_context, "the type hint of context must be CallContext alone"),
        (no_schema, "its parameters have no JSON schema: "),
        (unknown_type, "its parameters cannot be checked: Unable to generate pydantic-core schema"),
        (description_of_no_text, "its parameters have no JSON schema: "),
        (generator, "a generator cannot be a tool"),
        (async_generator, "a generator cannot be a tool"),
        (half_a_character, "its docstring is no valid text"),
        (Article, "only a function can be a tool"),
        (lambda_named("zwölf"), "a tool's name has 1 to 64 letters"),
        (lambda_named("a" * 65), "a tool's name has 1 to 64 letters"),
        (lambda_named("<lambda>"), "a tool's name has 1 to 64 letters"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_in_one_line(function: Any, problem: str) -> None:
    with pytest.raises(BadConfiguration) as refused:
        tool(function)

    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_wrapped_function_keeps_its_signature_and_an_object_that_is_called_has_one() -> None:
    @dataclass
    class Adder:
        base: int

        def __call__(self, number: int) -> int:
            return self.base + number

    @functools.wraps(no_schema_but_fine)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return no_schema_but_fine(*args, **kwargs)

    assert tool(wrapper).input_schema["required"] == ["path"]
    assert CustomTool(Adder(1), name="add").input_schema["required"] == ["number"]


def no_schema_but_fine(path: Path) -> None: ...
