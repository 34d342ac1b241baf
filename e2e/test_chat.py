"""`mcp-agent test coding-agent-chat-e2e` with the real CLIs and the scripted model."""

import json
from typing import cast

import pytest

from e2e.place import ROOT, Place

PROBES = [
    "launch and provider proof",
    "note canary",
    "silent sleep",
    "tool turns that do not leak",
    "literal and multi-line text",
    "long final answer",
    "live input during an active call",
    "interrupt during a tool call",
    "cancel and no relaunch",
    "retained session, no rebuild",
    "tmux loss and native resume",
    "stop and nothing left behind",
]
PINNED = {
    "claude-code": "@anthropic-ai/claude-code",
    "codex-cli": "@openai/codex",
    "pi-cli": "@earendil-works/pi-coding-agent",
}
LONGEST_SLEEP = "330s"
SCENARIO = ("test", "coding-agent-chat-e2e", "--model-server", "scripted")


def run_scenario(place: Place, provider: str, sleep: str, *more: str) -> dict[str, object]:
    done = place.run(*SCENARIO, "--provider", provider, "--sleep", sleep, "--json", *more)
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
@pytest.mark.timeout(900)
@pytest.mark.contract("X1", "X2", "X3", "X4", "T10")
def test_every_probe_passes_with_every_provider(place: Place) -> None:
    done = place.run(*SCENARIO, "--provider", "all", "--report", str(place.root / "out"), "--json")
    assert done.status == 0, done.out + done.err
    reports = {str(each["provider"]): each for each in done.list_of("providers")}
    assert {name: [probe["result"] for probe in probes(report)] for name, report in reports.items()} == dict.fromkeys(
        [*PINNED, "cursor-cli"], ["passed"] * len(PROBES)
    )
    assert min(silent_seconds(report) for report in reports.values()) >= 20
    pinned = json.loads((ROOT / "e2e/toolchain/package.json").read_text(encoding="utf-8"))["dependencies"]
    assert {name: reports[name]["provider_version"] for name in PINNED} == {
        name: pinned[package] for name, package in PINNED.items()
    }
    assert "emulator" in str(reports["cursor-cli"]["provider_version"])
    assert place.processes() == []


@pytest.mark.contract("X1", "X2", "X3")
def test_every_probe_passes_with_the_scripted_agent(place: Place) -> None:
    report = run_scenario(place, "scripted", "3s")
    assert silent_seconds(report) >= 3


@pytest.mark.long
@pytest.mark.real_cli
@pytest.mark.contract("T3")
def test_claude_code_does_not_background_a_call_of_150_seconds(place: Place) -> None:
    assert silent_seconds(run_scenario(place, "claude-code", "150s")) >= 150


@pytest.mark.long
@pytest.mark.real_cli
@pytest.mark.timeout(1200)
@pytest.mark.contract("X2", "T3")
@pytest.mark.parametrize("provider", [*PINNED, "cursor-cli"])
def test_every_probe_passes_with_the_longest_sleep_of_the_night(place: Place, provider: str) -> None:
    assert silent_seconds(run_scenario(place, provider, LONGEST_SLEEP)) >= 330


@pytest.mark.real_cli
@pytest.mark.contract("X3")
def test_the_real_model_without_credentials_is_not_run_and_never_passed(place: Place) -> None:
    done = place.run("test", "coding-agent-chat-e2e", "--provider", "claude-code", "--model-server", "real", "--json")
    assert done.status == 3
    assert done.json["result"] == "not run"
    assert "ANTHROPIC_API_KEY" in str(done.json["reason"])
    assert place.processes() == []
