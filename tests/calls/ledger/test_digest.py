"""Two calls are identical when a program would read the same from both."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.calls.digest import canonical, digest

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(st.text(max_size=5), json_values, max_size=4)


def turned_round(value: object) -> object:
    """The same JSON value with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned_round(inner) for key, inner in reversed(value.items())}
    return [turned_round(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.contract("W8")
@given(arguments)
def test_neither_key_order_nor_a_trip_through_json_changes_the_digest(value: dict[str, object]) -> None:
    again = turned_round(json.loads(json.dumps(value, indent=2)))

    assert isinstance(again, dict)
    assert digest("t", again) == digest("t", value)


@given(arguments)
def test_the_canonical_text_is_the_same_json_value(value: dict[str, object]) -> None:
    assert json.loads(canonical(value)) == value
    assert canonical(json.loads(canonical(value))) == canonical(value)


@pytest.mark.contract("W8")
@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (0, -0.0), (100, 1e2), (2**53, float(2**53))])
def test_a_whole_number_is_the_same_however_it_is_spelled(one: object, other: object) -> None:
    assert digest("t", {"n": one}) == digest("t", {"n": other})


@pytest.mark.contract("W8")
@pytest.mark.parametrize(
    ("one", "other"),
    [(1, True), (0, None), (1, "1"), ([1, 2], [2, 1]), (1.5, 1.25), ("\u00e9", "e\u0301"), ({}, []), ("", None)],
)
def test_different_values_have_different_digests(one: object, other: object) -> None:
    assert digest("t", {"n": one}) != digest("t", {"n": other})


def test_the_tool_is_part_of_the_digest_and_an_absent_argument_is_no_null() -> None:
    assert digest("one", {}) != digest("two", {})
    assert digest("t", {}) != digest("t", {"n": None})
    assert len(digest("t", {"\ud800": 1})) == 64
