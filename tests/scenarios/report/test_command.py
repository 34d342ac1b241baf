"""The report as an option of the command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
BOUND_SECONDS = 100.0


def command(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Where there is no CLI of any provider."""
    scenario = ("test", "coding-agent-chat-e2e", "--model-server", "scripted")
    return subprocess.run(
        [sys.executable, "-m", "mcp_agent", *scenario, *arguments],
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )


@pytest.mark.contract("X3", "X4")
def test_one_report_holds_all_providers_and_says_what_each_lacks(short_tmp: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = command(short_tmp, "--provider", "all", "--report", str(out), "--json")
    assert done.returncode == 4, done.stderr
    told = json.loads(done.stdout)
    names = [provider["provider"] for provider in told["providers"]]
    assert {"claude-code", "codex-cli", "cursor-cli", "pi-cli"} == set(names)
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    assert [provider["provider"] for provider in report["providers"]] == names
    assert {provider["result"] for provider in report["providers"]} == {"not run"}
    page = (out / "index.html").read_text(encoding="utf-8")
    assert all(f'<section id="{name}">' in page for name in names)


def test_people_are_told_where_the_page_is(short_tmp: Path, tmp_path: Path) -> None:
    done = command(short_tmp, "--provider", "pi-cli", "--report", str(tmp_path))
    assert done.returncode == 4
    assert done.stdout.splitlines()[-1] == f"report: {tmp_path / 'index.html'}"
    assert done.stdout.startswith("not run: pi-cli: ")


def test_a_directory_that_cannot_be_written_is_one_line_about_usage(short_tmp: Path) -> None:
    done = command(short_tmp, "--provider", "pi-cli", "--report", "/dev/null/out")
    assert done.returncode == 2
    assert done.stderr.startswith("mcp-agent: --report /dev/null/out: ")
    assert done.stderr.count("\n") == 1
