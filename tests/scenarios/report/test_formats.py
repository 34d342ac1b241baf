"""What programs read of a report: JSON by its schema, JUnit XML by what its readers agree on, an asciicast."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.scenarios.report.asciicast import asciicast
from mcp_agent.scenarios.report.json_form import json_form, schema
from mcp_agent.scenarios.report.junit import junit
from mcp_agent.scenarios.report.record import Frame, Probe, ProviderRun, Run
from mcp_agent.scenarios.results import ProbeResult, Result, ScenarioReport

BEGAN = datetime(2026, 11, 30, 3, 12, 5, tzinfo=UTC)

ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "time", "disabled", "skipped"},
    "testsuite": {
        *("name", "tests", "failures", "errors", "time", "disabled", "skipped"),
        *("timestamp", "hostname", "id", "package", "file"),
    },
    "testcase": {"name", "classname", "time", "assertions", "status", "group", "file"},
    "properties": set(),
    "property": {"name", "value"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "system-out": set(),
    "system-err": set(),
}
"""What Jenkins' `junit-10.xsd` allows, and with it the readers of other CI systems."""

CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["properties", "testcase", "system-out", "system-err"],
    "testcase": ["skipped", "error", "failure", "system-out", "system-err"],
    "properties": ["property"],
}
"""In the order that the Ant format asks for."""


def all_of(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    yield element
    for child in element:
        yield from all_of(child)


@pytest.fixture
def suites(run: Run) -> ElementTree.Element:
    return ElementTree.fromstring(junit(run))


@pytest.mark.contract("X4")
def test_the_junit_file_has_only_the_elements_and_attributes_that_its_readers_know(suites: ElementTree.Element) -> None:
    assert suites.tag == "testsuites"
    for element in all_of(suites):
        assert set(element.keys()) <= ATTRIBUTES[element.tag]
        places = [CHILDREN.get(element.tag, []).index(child.tag) for child in element]
        assert places == sorted(places)
    for suite in suites:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp", ""))
        assert all(case.get("name") and case.get("classname") for case in suite.iter("testcase"))


@pytest.mark.contract("X4")
def test_the_counts_of_the_junit_file_are_those_of_its_cases(suites: ElementTree.Element) -> None:
    counted = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for count, element in counted.items():
        assert all(int(suite.get(count, "")) == len(list(suite.iter(element))) for suite in suites)
        assert int(suites.get(count, "")) == len(list(suites.iter(element)))
    assert [len(list(suite.iter("testcase"))) for suite in suites] == [2, 3, 2, 1]


@pytest.mark.contract("X3", "X4")
def test_what_was_not_run_is_skipped_with_its_reason_and_never_an_empty_suite(suites: ElementTree.Element) -> None:
    told = [(skipped.get("type"), skipped.get("message")) for skipped in suites.iter("skipped")]
    assert told == [
        ("not run", "silent sleep did not pass"),
        ("not run", "no credentials: none of FOUR_API_KEY is set"),
    ]


@pytest.mark.contract("X4")
def test_a_failure_in_the_junit_file_says_expected_seen_layer_and_the_screen(suites: ElementTree.Element) -> None:
    (failure,) = suites.iter("failure")
    text = failure.text or ""
    assert "expected: the wait for the tool ends by its result\n" in text
    assert "seen:     the wait ended by tool_wait after 45.0 s" in text
    assert "layer:    tool_wait, 45 s\n" in text
    assert "| ❯ Use the execute_shell_command tool" in text
    assert "\x1b" not in text


@given(text=st.text())
def test_any_text_can_stand_in_a_junit_file(text: str) -> None:
    provider = replace(_failed(name=f"p{text}", reason=f"r{text}", seen=text), provider_version=text, reason=text)
    root = ElementTree.fromstring(junit(_run(provider)))
    assert len(list(root.iter("failure"))) == 1


@pytest.mark.contract("X4")
def test_the_json_file_keeps_to_its_schema(run: Run) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    told = json.loads(json_form(run))
    jsonschema.validate(told, schema())
    assert (told["result"], told["exit_code"], len(told["providers"])) == ("failed", 1, 4)
    assert [provider["emulator"] for provider in told["providers"]] == [False, False, True, False]


@pytest.mark.contract("X4")
def test_the_schema_asks_of_each_provider_all_that_the_json_option_prints() -> None:
    printed = ScenarioReport("a", None, "scripted", [ProbeResult("p", Result.PASSED, None, 0.1)]).as_json()
    definitions: Any = schema()["$defs"]
    assert set(printed) <= set(definitions["provider"]["required"])
    probes: Any = printed["probes"]
    assert set(probes[0]) <= set(definitions["probe"]["required"])


@pytest.mark.contract("X3")
@pytest.mark.parametrize(
    "change",
    [
        {"result": "failed"},
        {"probes": []},
        {"exit_code": 8},
        {"more": 1},
    ],
)
def test_the_schema_refuses_a_pass_that_is_none(run: Run, change: dict[str, object]) -> None:
    told = json.loads(json_form(run))
    told["providers"][0] |= change
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, schema())


@pytest.mark.contract("X3")
def test_the_schema_refuses_a_probe_that_did_not_pass_for_no_reason(run: Run) -> None:
    told = json.loads(json_form(run))
    told["providers"][1]["probes"][1]["reason"] = None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(told, schema())


@pytest.mark.contract("X4")
def test_an_asciicast_has_a_header_and_pictures_and_markers_in_order(run: Run) -> None:
    header, *events = map(json.loads, asciicast(run.providers[1], began_at=run.began_at).splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, 120, 36)
    assert [event[1:] for event in events if event[1] == "m"] == [
        ["m", "launch and provider proof"],
        ["m", "silent sleep"],
    ]
    assert [event[0] for event in events] == sorted(event[0] for event in events)
    (picture,) = (event[2] for event in events if event[1] == "o")
    assert picture.startswith("\x1b[0m\x1b[?25l\x1b[2J\x1b[H")
    assert "execute_shell_command" in picture


def test_an_asciicast_leaves_out_what_did_not_change_and_tells_a_new_size() -> None:
    same = [Frame(float(at), 80, 24, ("a",)) for at in range(3)]
    provider = replace(_failed(), frames=(*same, Frame(4.0, 100, 30, ("b",))))
    _, *events = map(json.loads, asciicast(provider, began_at=BEGAN).splitlines())
    shown = [(at, kind) for at, kind, _ in events if kind != "m"]
    assert shown == [(0.0, "o"), (4.0, "r"), (4.0, "o")]


def _failed(**told: Any) -> ProviderRun:
    probe = Probe(
        **{"name": "p", "result": Result.FAILED, "reason": "r", "began_seconds": 0.0, "elapsed_seconds": 1.0, **told}
    )
    return ProviderRun("agent", "1", "scripted", Result.FAILED, 1, (probe,), elapsed_seconds=1.0)


def _run(provider: ProviderRun) -> Run:
    return Run("scenario", "command", BEGAN, (provider,))
