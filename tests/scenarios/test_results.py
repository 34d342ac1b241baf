"""What the probes found becomes one result and one exit code; a run that proved nothing is never a pass."""

from __future__ import annotations

import json

import pytest

from mcp_agent.scenarios.results import ProbeResult, Result, ScenarioReport

PASSED, FAILED, NOT_RUN, SKIPPED, INCONCLUSIVE = Result


def report(*results: Result, reason: str | None = None, stopped_with: int | None = None) -> ScenarioReport:
    probes = [ProbeResult(f"probe {n}", result, None, 0.12345) for n, result in enumerate(results)]
    return ScenarioReport("scripted", "1.0", "scripted", probes, reason=reason, stopped_with=stopped_with)


@pytest.mark.contract("X3")
@pytest.mark.parametrize(
    ("results", "stopped_with", "result", "exit_code"),
    [
        ([PASSED], None, PASSED, 0),
        ([PASSED, PASSED], None, PASSED, 0),
        ([PASSED, SKIPPED], None, PASSED, 0),
        ([SKIPPED, NOT_RUN], None, NOT_RUN, 1),
        ([], None, NOT_RUN, 1),
        ([PASSED, NOT_RUN], None, NOT_RUN, 1),
        ([PASSED, FAILED, PASSED], None, FAILED, 1),
        ([FAILED, NOT_RUN, NOT_RUN], None, FAILED, 1),
        ([PASSED, INCONCLUSIVE, PASSED], None, INCONCLUSIVE, 7),
        ([INCONCLUSIVE, NOT_RUN], None, INCONCLUSIVE, 7),
        ([INCONCLUSIVE, FAILED], None, FAILED, 1),
        ([], 3, NOT_RUN, 3),
        ([], 4, NOT_RUN, 4),
        ([FAILED, NOT_RUN], 5, FAILED, 5),
        ([PASSED, FAILED, NOT_RUN], 6, FAILED, 6),
    ],
)
def test_the_worst_probe_decides_and_only_a_whole_pass_is_zero(
    results: list[Result], stopped_with: int | None, result: Result, exit_code: int
) -> None:
    found = report(*results, stopped_with=stopped_with)
    assert (found.result, found.exit_code) == (result, exit_code)


@pytest.mark.contract("X4")
def test_the_json_has_the_promised_keys_and_no_others() -> None:
    found = json.loads(json.dumps(report(PASSED, reason="why").as_json()))
    assert found == {
        "provider": "scripted",
        "provider_version": "1.0",
        "model_server": "scripted",
        "result": "passed",
        "reason": "why",
        "exit_code": 0,
        "probes": [
            {"name": "probe 0", "result": "passed", "reason": None, "elapsed_seconds": 0.123, "evidence": {}},
        ],
    }
