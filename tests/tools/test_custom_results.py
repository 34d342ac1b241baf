"""What a function returned, as a model reads it: nothing is guessed, and nothing that ran is called a failure."""

import json
import math
import os
import stat
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, field_serializer

from mcp_agent.tools.bounds import SHOWN_BYTES
from mcp_agent.tools.jsonable import DEEPEST, MOST_VALUES, NotJson, jsonable
from mcp_agent.tools.results import KEPT_BYTES, RESULT_FILE, to_result
from mcp_agent.tools.tool import CallContext, ToolResult

Point = namedtuple("Point", "x y")


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Model(BaseModel):
    at: datetime


@dataclass
class Record:
    path: Path
    children: list["Record"] = field(default_factory=list)


class Broken(BaseModel):
    secret: str = "x"

    @field_serializer("secret")
    def serialize(self, value: str) -> str:
        raise LookupError(value)


AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def context(tmp_path: Path) -> CallContext:
    return CallContext("call_1", "s-1", tmp_path / "calls" / "call_1", tmp_path, {}, None)


def circular() -> list[object]:
    value: list[object] = []
    value.append(value)
    return value


def test_text_is_shown_as_it_is(context: CallContext) -> None:
    assert to_result("naïve\n", context, tool="t") == ToolResult("naïve\n")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (1.5, 1.5),
        ([1, (2, 3)], [1, [2, 3]]),
        (Level.HIGH, 3),
        ([Colour.RED], ["red"]),
        (Point(1, 2), [1, 2]),
        ([AT, AT.date(), Path("/a")], ["2026-01-02T03:04:05+00:00", "2026-01-02", "/a"]),
        ([UUID(int=1), Decimal("1.10")], ["00000000-0000-0000-0000-000000000001", "1.10"]),
    ],
)
def test_what_json_can_hold_is_json_text(context: CallContext, value: object, plain: object) -> None:
    result = to_result(value, context, tool="t")

    assert json.loads(result.text) == plain
    assert result.structured is None


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"a": 1}, {"a": 1}),
        ({1: "b", Colour.RED: 2, AT.date(): 3}, {"1": "b", "red": 2, "2026-01-02": 3}),
        (Model(at=AT), {"at": "2026-01-02T03:04:05Z"}),
        (Record(Path("/a"), [Record(Path("/b"))]), {"path": "/a", "children": [{"path": "/b", "children": []}]}),
    ],
)
def test_mappings_models_and_dataclasses_are_structured_too(context: CallContext, value: object, plain: object) -> None:
    result = to_result(value, context, tool="t")

    assert result.structured == json.loads(result.text) == plain


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"tags": {1, 2}}, "JSON cannot hold the set at $.tags"),
        ([b"raw"], "JSON cannot hold the bytes at $[0]"),
        (object(), "JSON cannot hold the object at $"),
        (Record, "JSON cannot hold the type at $"),
        (math.nan, "JSON cannot hold the number nan at $"),
        ({"a": [math.inf]}, "JSON cannot hold the number inf at $.a[0]"),
        (timedelta(1), "JSON cannot hold the timedelta at $"),
        ({True: 3}, "JSON cannot hold the key of type bool at $"),
        ({(1, 2): 3}, "JSON cannot hold the key of type tuple at $"),
        ({1: "a", "1": "b"}, "two keys at $ are both '1' in JSON"),
        pytest.param(10**5000, "the whole number at $ has 16610 binary digits", id="long number"),
        (circular(), f"it is nested deeper than {DEEPEST} levels, or holds itself"),
        ([0] * (MOST_VALUES + 1), f"it holds more than {MOST_VALUES} values"),
        (Broken(), "turning it into JSON raised"),
        pytest.param("x" * (KEPT_BYTES + 1), "it is too large: ", id="long text"),
    ],
)
def test_a_result_that_cannot_be_shown_is_said_to_be_one_of_work_that_was_done(
    context: CallContext, value: object, problem: str
) -> None:
    result = to_result(value, context, tool="t")

    assert result.text.startswith("ERROR: layer=server_tool owner=server tool=t session=s-1 call_id=call_1")
    assert "outcome=succeeded: The work was done, but its result" in result.text
    assert problem in result.text
    assert dict(result.structured or {})["outcome"] == "succeeded"


def test_the_place_of_a_problem_stays_short(context: CallContext) -> None:
    result = to_result({"k" * 100_000: {1}}, context, tool="t")

    assert len(result.text) < 2000


@pytest.mark.contract("B5")
@pytest.mark.parametrize("make", [lambda: "é" * 200_000, lambda: {"lines": ["x\n"] * 50_000}, lambda: "\x01" * 40_000])
def test_a_long_result_is_shown_as_its_ends_and_kept_as_a_whole(
    context: CallContext, make: Callable[[], object]
) -> None:
    value = make()
    result = to_result(value, context, tool="t")

    kept = context.call_directory / RESULT_FILE
    whole = kept.read_text(encoding="utf-8")
    assert (whole if isinstance(value, str) else json.loads(whole)) == value
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "bytes omitted ...]" in result.text
    assert len(json.dumps(result.text, ensure_ascii=False).encode()) <= SHOWN_BYTES
    assert result.structured is None


def test_a_long_result_that_cannot_be_kept_is_still_one_of_work_that_was_done(context: CallContext) -> None:
    context.call_directory.parent.write_text("a file where the directory should be")

    assert "outcome=succeeded" in to_result("x" * 100_000, context, tool="t").text


def test_a_file_name_that_is_no_text_can_be_shown(context: CallContext) -> None:
    result = to_result({"name": os.fsdecode(b"caf\xe9")}, context, tool="t")

    assert result.structured == {"name": "caf�"}
    assert result.text.encode()


def test_a_tool_result_is_taken_as_it_is(context: CallContext) -> None:
    assert to_result(ToolResult("short", {"a": (1,)}), context, tool="t") == ToolResult("short", {"a": [1]})
    assert "cannot be shown" in to_result(ToolResult("short", {"a": {1}}), context, tool="t").text


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.sets(st.integers()) | st.tuples(inner)
    ),
    max_leaves=20,
)


@given(values)
def test_any_value_becomes_valid_json_or_a_reason(value: object) -> None:
    try:
        plain = jsonable(value)
    except NotJson:
        return
    assert json.loads(json.dumps(plain, ensure_ascii=False, allow_nan=False).encode()) == plain
