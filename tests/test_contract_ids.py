"""Every promise of docs/contract.md is held by a test or waits for a named capability, and no test names another id."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROMISE = re.compile(r"^- \*\*([A-Z]\d+)\*\*", re.MULTILINE)

NOT_BUILT = {
    "E7": "schedules",
    "E8": "workers on several machines",
}
"""What no test can hold yet, and the capability that will build it. This list only shrinks."""


def promised_ids() -> list[str]:
    return PROMISE.findall((ROOT / "docs/contract.md").read_text(encoding="utf-8"))


def ids_named_by_tests() -> set[str]:
    files = [path for folder in ("tests", "e2e") for path in (ROOT / folder).rglob("test_*.py")]
    return {id_ for path in files for id_ in ids_in(path.read_text(encoding="utf-8"))}


def ids_in(source: str) -> Iterator[str]:
    """The arguments of every `pytest.mark.contract(…)`; anything but a written-out string is an error."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.contract":
            yield from (ast.literal_eval(argument) for argument in node.args)


def problems(promised: Iterable[str], named: Iterable[str], not_built: Iterable[str]) -> list[str]:
    """One line for every id that breaks the rule."""
    known, held, waiting = set(promised), set(named), set(not_built)
    return [
        *(f"{id_}: no test names it and no capability builds it" for id_ in sorted(known - held - waiting)),
        *(f"{id_}: a test names it, but docs/contract.md does not promise it" for id_ in sorted(held - known)),
        *(f"{id_}: listed as not built, but docs/contract.md does not promise it" for id_ in sorted(waiting - known)),
        *(f"{id_}: listed as not built, but a test names it" for id_ in sorted(waiting & held)),
    ]


def test_every_promise_is_held_by_a_test_or_waits_for_a_capability() -> None:
    assert problems(promised_ids(), ids_named_by_tests(), NOT_BUILT) == []


def test_every_promise_has_an_id_of_its_own() -> None:
    ids = promised_ids()

    assert len(ids) == len(set(ids))
    assert {id_[0] for id_ in ids} == set("TWCBASIEX")


@pytest.mark.parametrize(
    ("named", "not_built", "problem"),
    [
        ((), (), "T1: no test names it and no capability builds it"),
        (("T1", "T2"), (), "T2: a test names it, but docs/contract.md does not promise it"),
        (("T1",), ("T2",), "T2: listed as not built, but docs/contract.md does not promise it"),
        (("T1",), ("T1",), "T1: listed as not built, but a test names it"),
    ],
)
def test_each_way_to_break_the_rule_is_found(named: tuple[str, ...], not_built: tuple[str, ...], problem: str) -> None:
    assert problems(["T1"], named, not_built) == [problem]


def test_marks_are_found_on_functions_modules_and_parameters() -> None:
    source = """
pytestmark = [pytest.mark.anyio, pytest.mark.contract("T1")]

@pytest.mark.contract("T2", "T3")
def test_one(): ...

CASES = [pytest.param(1, marks=pytest.mark.contract("T4"))]
"""

    assert set(ids_in(source)) == {"T1", "T2", "T3", "T4"}
