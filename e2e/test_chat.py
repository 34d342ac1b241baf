"""`mcp-agent test coding-agent-chat-e2e` with the real CLIs and the scripted model."""

import json
from typing import cast

import pytest

from e2e.place import ROOT, Place

PROBES = [
    "launch and provider proof",
    "note canary",
    "silent sleep",
    "live input during an active call",
    "final answer from the retained session",
    "stop and nothing left behind",
]
PINNED = {"claude-code": "@anthropic-ai/claude-code"}


def run_scenario(place: Place, provider: str, sleep: str, *more: str) -> dict[str, object]:
    done = place.run(
        "test",
        "coding-agent-chat-e2e",
        "--provider",
        provider,
        "--model-server",
        "scripted",
        "--sleep",
        sleep,
        "--json",
        *more,
    )
    assert done.status == 0, done.out + done.err
    report = done.json
    assert report["result"] == "passed"
    assert [probe["name"] for probe in probes(report)] == PROBES
    assert {probe["result"] for probe in probes(report)} == {"passed"}
    assert place.processes() == []
    return report


def probes(report: dict[str, object]) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", report["probes"])


def silent_seconds(report: dict[str, object]) -> float:
    evidence = next(probe["evidence"] for probe in probes(report) if probe["name"] == "silent sleep")
    return cast("dict[str, float]", evidence)["silent_seconds"]


@pytest.mark.real_cli
@pytest.mark.contract("X1", "X3", "T10")
def test_every_probe_passes_with_the_pinned_claude_code(place: Place) -> None:
    pinned = json.loads((ROOT / "e2e/toolchain/package.json").read_text(encoding="utf-8"))["dependencies"]
    report = run_scenario(place, "claude-code", "20s")
    assert report["provider_version"] == pinned[PINNED["claude-code"]]
    assert silent_seconds(report) >= 20


@pytest.mark.contract("X1", "X3")
def test_every_probe_passes_with_the_scripted_agent(place: Place) -> None:
    report = run_scenario(place, "scripted", "3s")
    assert silent_seconds(report) >= 3


@pytest.mark.long
@pytest.mark.real_cli
@pytest.mark.contract("T3")
def test_claude_code_does_not_background_a_call_of_150_seconds(place: Place) -> None:
    assert silent_seconds(run_scenario(place, "claude-code", "150s")) >= 150


@pytest.mark.real_cli
@pytest.mark.contract("X3")
def test_the_real_model_without_credentials_is_not_run_and_never_passed(place: Place) -> None:
    done = place.run("test", "coding-agent-chat-e2e", "--provider", "claude-code", "--model-server", "real", "--json")
    assert done.status == 3
    assert done.json["result"] == "not run"
    assert "ANTHROPIC_API_KEY" in str(done.json["reason"])
    assert place.processes() == []
