"""The nightly workflow names every provider, hands each its own secret, and calls `not run` what was not run."""

import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from mcp_agent import registry
from mcp_agent.scenarios.reported import providers_of

ROOT = Path(__file__).parents[3]
WORKFLOW = (ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"\{ provider: (\S+), credential: (\S+) \}")


def test_there_is_a_job_for_each_provider_with_a_secret_that_it_reads() -> None:
    entries = {provider: credential.strip('"') for provider, credential in ENTRY.findall(WORKFLOW)}
    assert set(entries) == set(providers_of("all"))
    for provider, credential in entries.items():
        names = registry.load(provider).credential_names
        assert credential in names or (not credential and not names)


@pytest.mark.parametrize(
    ("scripted", "real", "optional", "red", "word"),
    [
        ("0", "0", "", 0, "real model: passed"),
        ("0", "3", "", 1, "real model: not run: no credentials"),
        ("0", "3", "other pi-cli", 0, "real model: not run: no credentials"),
        ("0", "4", "my-pi-cli", 1, "real model: not run: the CLI or tmux is missing"),
        ("1", "0", "pi-cli", 1, "scripted model: failed: ours to mend"),
        ("0", "", "", 1, "real model: failed"),
        ("0", "143", "", 1, "real model: ended with exit code 143"),
    ],
)
def test_a_job_is_red_unless_all_passed_or_what_was_not_run_may_be(
    tmp_path: Path, scripted: str, real: str, optional: str, red: int, word: str
) -> None:
    script = textwrap.dedent(WORKFLOW.split("- name: Result")[1].split("run: |\n")[1])
    summary = tmp_path / "summary"
    told = {"PROVIDER": "pi-cli", "OPTIONAL": optional, "GITHUB_STEP_SUMMARY": str(summary)}
    codes = {name: code for name, code in (("scripted", scripted), ("real", real)) if code}
    done = subprocess.run(["bash", "-e", "-c", script], env={**os.environ, **told, **codes}, check=False)
    assert (done.returncode, word in summary.read_text()) == (red, True)


def test_the_workflow_runs_the_long_silence_and_keeps_the_report() -> None:
    assert "'330s'" in WORKFLOW
    assert WORKFLOW.count("--report report/") == 2
    assert "upload-artifact" in WORKFLOW


@pytest.mark.contract("X3")
def test_the_page_on_operations_tells_every_exit_code() -> None:
    assert re.findall(r"^\| (\d) \|", OPERATIONS, re.MULTILINE) == [str(code) for code in range(8)]
