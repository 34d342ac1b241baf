"""`mcp-agent test adapter-conformance`, as a third party runs it, with each program that is installed here."""

import json
import sys
from pathlib import Path
from typing import cast

import pytest

from e2e.place import ROOT, Place

PINNED = {
    "claude-code": "@anthropic-ai/claude-code",
    "codex-cli": "@openai/codex",
    "pi-cli": "@earendil-works/pi-coding-agent",
}
LACKING = {
    "claude-code": {"tabs in prompts", "invisible characters in prompts"},
    "cursor-cli": {"MCP timeout", "usage"},
    "pi-cli": {"MCP timeout", "permission modes", "permission prompts"},
}
"""What a CLI is known to be without; nothing else may be left out."""
EMULATORS = ROOT / "e2e/cursor_emulator/bin"
"""Programs of our own, in the place of those that are on no registry."""

real = [pytest.param(provider, marks=pytest.mark.real_cli) for provider in PINNED]


@pytest.mark.timeout(300)
@pytest.mark.contract("X1", "X3", "A4", "S5", "S7", "I3", "I4")
@pytest.mark.parametrize("provider", ["scripted", "cursor-cli", *real])
def test_every_question_is_answered_as_it_must_be(place: Place, provider: str) -> None:
    path = f"{EMULATORS}:{place.environment['PATH']}"
    done = place.run("test", "adapter-conformance", "--provider", provider, "--json", PATH=path)

    assert done.status == 0, done.out + done.err
    assert done.json["result"] == "passed"
    questions = done.list_of("questions")
    assert {question["lacks"] for question in questions if question["result"] != "passed"} == LACKING.get(
        provider, set()
    )
    assert {question["result"] for question in questions} <= {"passed", "skipped"}
    if provider in PINNED:
        assert done.json["provider_version"] == pinned_version(PINNED[provider])
    assert place.processes() == []


@pytest.mark.contract("X3")
def test_a_program_that_is_not_installed_is_not_run_and_the_adapter_is_asked_all_the_same(place: Place) -> None:
    done = place.run(
        "test",
        "adapter-conformance",
        "--provider",
        "codex-cli",
        "--json",
        PATH=f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
    )

    assert done.status == 4
    assert {question["result"] for question in done.list_of("questions")} == {"passed", "not run"}
    assert place.processes() == []


def pinned_version(package: str) -> str:
    pins = json.loads((ROOT / "e2e/toolchain/package.json").read_text(encoding="utf-8"))
    return cast("dict[str, str]", pins["dependencies"])[package]
