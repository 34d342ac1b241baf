"""What people read of a conformance run: each reason once, however many questions have it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from mcp_agent.cli import conformance
from mcp_agent.scenarios.conformance.questions import ASKED
from mcp_agent.scenarios.results import ProbeResult, Result, ScenarioReport

BIN = Path(sys.executable).parent

pytestmark = pytest.mark.contract("X3")


def test_a_cli_that_is_missing_is_said_once_and_not_for_each_question(short_tmp: Path) -> None:
    done = subprocess.run(
        [str(BIN / "mcp-agent"), "test", "adapter-conformance", "--provider", "cursor-cli"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(short_tmp), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout.count("is not installed")) == (4, 1)
    last = done.stdout.splitlines()[-1]
    assert last.startswith("not run: ")
    assert re.search(r"passed, \d+ not run, ", last)
    assert [question.name for question in ASKED if f"not run     {question.name}" in done.stdout] == []


def test_questions_with_the_same_reason_are_one_row_and_each_failure_has_its_own() -> None:
    output = io.StringIO()
    answers = [
        ProbeResult("one", Result.FAILED, "why", 1.0),
        ProbeResult("two", Result.FAILED, "why", 1.0),
        *(ProbeResult(f"later {number}", Result.NOT_RUN, "the run was stopped before", 0.0) for number in range(9)),
        ProbeResult("cost", Result.SKIPPED, "usage: [it] never says" + " so" * 200, 0.0),
    ]
    report = ScenarioReport("scripted", "1", "scripted", answers)
    conformance._conclude(Console(file=output, width=1000, soft_wrap=True), report)
    _, *rows, _ = [line.split() for line in output.getvalue().splitlines()]
    assert [row[:3] for row in rows] == [
        ["one", "failed", "why"],
        ["two", "failed", "why"],
        ["9", "questions", "not"],
        ["cost", "skipped", "usage:"],
    ]
    assert rows[3][3] == "[it]"
    assert rows[3][-1] == "so…"


def test_while_it_runs_a_question_that_was_not_begun_is_no_line() -> None:
    output = io.StringIO()
    heard = conformance._listener(Console(file=output, width=100, soft_wrap=True))
    heard.probed(ProbeResult("later", Result.NOT_RUN, "the run was stopped before", 0.0))
    heard.probed(ProbeResult("begun", Result.NOT_RUN, "the first session was not started", 0.1))
    assert "later" not in output.getvalue()
    assert "the first session was not started" in output.getvalue()
