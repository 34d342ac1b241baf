"""The page as text: the worst first, the probe that decides open, everything said, nothing loaded."""

import re
from dataclasses import replace

import pytest

from mcp_agent.scenarios.report import verdict
from mcp_agent.scenarios.report.html import page
from mcp_agent.scenarios.report.html.words import duration
from mcp_agent.scenarios.report.record import Event, Run
from mcp_agent.scenarios.results import Result


def sections(text: str) -> list[str]:
    return re.findall(r'<section id="([^"]+)">', text)


@pytest.mark.contract("X4")
def test_a_report_of_several_providers_holds_all_of_them_the_worst_first(run: Run) -> None:
    assert sections(page(run)) == ["agent-two", "agent-four", "agent-one", "agent-three"]


@pytest.mark.contract("X4")
def test_the_probe_that_decides_is_open_and_every_other_one_is_folded(run: Run) -> None:
    text = page(run)
    assert text.count('<details class="probe" open>') == 1
    assert text.count('<details class="probe">') == 6
    opened = text.split('<details class="probe" open>')[1].split('<details class="probe">')[0]
    shown = opened.split('class="more"')[0]
    for told in (
        "silent sleep",
        "the wait for the tool ends by its result",
        "the wait ended by tool_wait after 45.0 s",
        "tool_wait, 45 s",
        "when it failed",
        "<svg",
    ):
        assert told in shown


def test_a_call_whose_end_was_not_seen_is_not_told_as_one_that_goes_on(run: Run) -> None:
    two = run.providers[1]
    call = replace(two.probes[1].calls[0], ended_seconds=None, ended_by=None, happened=None)
    probes = (two.probes[0], replace(two.probes[1], calls=(call,)))
    text = page(replace(run, providers=(replace(two, probes=probes),)))
    assert "its end was not looked at any more" in text
    assert "not ended" not in text
    assert "nothing yet" not in text


def test_the_timeline_has_what_was_done_about_a_failure_after_it(run: Run) -> None:
    two = run.providers[1]
    failed = two.probes[1]
    late = Event(failed.began_seconds + failed.elapsed_seconds + 1, "turn interrupting", "by the test")
    probes = (replace(failed, events=(late, *failed.events)),)
    text = page(replace(run, providers=(replace(two, probes=probes),)))
    lines = re.findall(r"<time>([\d.]+) s</time><span class=\"kind[^>]*>([^<]+)<", text)
    assert [kind for _, kind in lines] == ["prompt", "call begins", "call ends", "failed", "turn interrupting"]
    assert sorted(lines, key=lambda line: float(line[0])) == lines


def test_what_the_pages_first_lines_say(run: Run) -> None:
    head = page(run).split("<main>")[0]
    assert '<h1 class="failed">Failed</h1>' in head
    assert "2 of 4 providers: agent-two failed at “silent sleep”; agent-four was not run." in head
    assert verdict.advice(1) in head


def test_an_emulator_is_called_one(run: Run) -> None:
    by_name = dict(zip(sections(page(run)), page(run).split("<section ")[1:], strict=True))
    assert [name for name, text in by_name.items() if ">emulator<" in text] == ["agent-three"]


@pytest.mark.contract("X3")
def test_what_was_not_run_says_why_and_what_to_do(run: Run) -> None:
    text = page(replace(run, providers=run.providers[3:]))
    assert '<h1 class="open">Not run</h1>' in text
    assert "no credentials: none of FOUR_API_KEY is set" in text
    assert verdict.advice(3) in text
    assert "exit code 3" in text


def test_a_run_that_passed_says_so_and_asks_for_nothing(run: Run) -> None:
    text = page(replace(run, providers=run.providers[:1]))
    assert "All 2 probes passed: agent-one." in text
    assert "What to do" not in text
    assert " open>" not in text


def test_the_page_loads_nothing_and_runs_nothing(run: Run) -> None:
    text = page(run)
    assert re.findall(r"<script|<iframe|<img|@import|url\(|@font-face| on[a-z]+=", text) == []
    links = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert {link.partition("#")[0] for link in links} == {"", "data:,"}


def test_text_of_others_cannot_become_part_of_the_page(run: Run) -> None:
    evil = "<script>alert(1)</script>\"'&"
    two = run.providers[1]
    probes = tuple(replace(probe, name=evil, reason=evil, seen=evil, proves=evil) for probe in two.probes)
    text = page(replace(run, command=evil, providers=(replace(two, provider=evil, reason=evil, probes=probes),)))
    assert "<script" not in text


def test_a_run_that_only_an_option_kept_from_passing_asks_for_another_option(run: Run) -> None:
    two = run.providers[1]
    longer = "Run it again with a longer --timeout."
    only = replace(two.probes[1], evidence={verdict.TO_DO: longer})
    assert verdict.of_all(replace(run, providers=(replace(two, probes=(only,)),))) == longer
    assert verdict.of_all(replace(run, providers=(replace(two, probes=(only, two.probes[1])),))) == verdict.advice(1)
    assert verdict.advice(3, [only]) == verdict.advice(3)
    assert "fault of mcp-agent" in verdict.advice(1)


def test_a_run_without_providers_is_not_run(run: Run) -> None:
    nothing = replace(run, providers=())
    assert (verdict.result_of(nothing), verdict.exit_code_of(nothing)) == (Result.NOT_RUN, 1)
    assert "No provider was run." in page(nothing)


@pytest.mark.contract("X3")
@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([(Result.PASSED, 0), (Result.PASSED, 0)], 0),
        ([(Result.NOT_RUN, 3), (Result.FAILED, 6)], 6),
        ([(Result.FAILED, 5), (Result.FAILED, 1)], 1),
        ([(Result.INCONCLUSIVE, 7), (Result.PASSED, 0)], 7),
        ([(Result.NOT_RUN, 4), (Result.PASSED, 0)], 4),
        ([], 1),
    ],
)
def test_one_exit_code_stands_for_several_providers(found: list[tuple[Result, int]], code: int) -> None:
    assert verdict.exit_code_of_all(found) == code


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.44, "0.4 s"), (42.4, "42 s"), (59.9, "1 min"), (330, "5 min 30 s"), (5400, "1 h 30 min"), (3600, "1 h")],
)
def test_durations_are_told_as_people_say_them(seconds: float, told: str) -> None:
    assert duration(seconds) == told.replace(" ", "\u00a0")
