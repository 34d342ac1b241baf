"""What people see while probes run: on a terminal a last line that counts, elsewhere a line for each wait."""

import io
from datetime import timedelta

import pytest
from rich.console import Console

from mcp_agent.cli.probe_progress import ProbeProgress, Waiting
from mcp_agent.scenarios.results import ProbeResult, Result


@pytest.fixture
def output() -> io.StringIO:
    return io.StringIO()


def test_elsewhere_each_wait_is_a_line_that_says_for_what_and_how_long(output: io.StringIO) -> None:
    progress = ProbeProgress(Console(file=output, width=100, soft_wrap=True))
    heard = progress.listener()
    with progress.shown():
        heard.begins("silent sleep")
        heard.waits("the turn to end", timedelta(minutes=3, seconds=20))
        heard.waits("the server to end", None)
        heard.say("answer  [bold]DONE[/bold]")
        heard.probed(ProbeResult("silent sleep", Result.FAILED, "why", 1.25, {"screen": ["last"]}))
    assert output.getvalue().splitlines() == [
        "begins      silent sleep",
        "  waits   for the turn to end, at most 3m20s",
        "  waits   for the server to end",
        "  answer  [bold]DONE[/bold]",
        "failed      silent sleep  1.2 s",
        "            why",
        "            | last",
    ]


def test_on_a_terminal_the_last_line_says_what_is_waited_for(output: io.StringIO) -> None:
    progress = ProbeProgress(Console(file=output, width=100, force_terminal=True, soft_wrap=True))
    heard = progress.listener()
    with progress.shown():
        heard.begins("silent sleep")
        heard.waits("the turn to end", timedelta(seconds=90))
    shown = output.getvalue()
    assert "silent sleep: waits for the turn to end, at most 1m30s" in shown
    assert "begins" not in shown


def test_the_last_line_counts_from_when_the_wait_began() -> None:
    waiting = Waiting("silent sleep", "the turn to end", None)
    waiting.began -= 75
    assert waiting.__rich__().plain == "silent sleep: waits for the turn to end  75 s"
    assert Waiting("launch").__rich__().plain == "launch  0 s"
