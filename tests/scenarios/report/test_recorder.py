"""What a recorder hears and sees goes to the probe it fell into; what it cannot see does not hold the run up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from trio.testing import MockClock

from mcp_agent.errors import ServerUnreachable
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.options import Listener
from mcp_agent.scenarios.report.record import ProviderRun
from mcp_agent.scenarios.report.recorder import LOOKS_EVERY, Recorder
from mcp_agent.scenarios.report.slicing import MOST_SHOTS, provider_run
from mcp_agent.scenarios.results import ProbeResult, Result, ScenarioReport
from mcp_agent.scenarios.workspace import Workspace

pytestmark = pytest.mark.anyio

QUIET = Listener(say=lambda _: None, probed=lambda _: None)
EPOCH = 1_000_000.0


@dataclass
class Clock:
    """A wall clock that is set by hand."""

    at: float = EPOCH

    def __call__(self) -> float:
        return self.at


@dataclass
class Api:
    """A driver's answers, as they are just now."""

    lines: list[str] = field(default_factory=list)
    told: list[dict[str, object]] = field(default_factory=list)
    running: list[dict[str, object]] = field(default_factory=list)
    gone: bool = False
    looks: int = 0

    async def picture(self, session_id: str) -> dict[str, object]:
        self.looks += 1
        if self.gone:
            raise ServerUnreachable(Path("/s"), "nobody listens there")
        return {"id": session_id, "title": "t", "columns": 80, "rows": 24, "lines": list(self.lines)}

    async def events(self, session_id: str, *, after: int = 0) -> list[dict[str, object]]:
        return [event for event in self.told if cast("int", event["seq"]) > after]

    async def calls(self, session_id: str) -> list[dict[str, object]]:
        return self.running


@dataclass
class Scenario:
    """What is watched."""

    api: Api
    space: Workspace
    session: dict[str, object] = field(default_factory=lambda: {"id": "s-1"})
    start_body: Mapping[str, object] = field(default_factory=dict)

    @property
    def driver(self) -> Driver:
        return cast("Driver", self.api)


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def scenario(api: Api, tmp_path: Path) -> Scenario:
    return Scenario(api, Workspace(tmp_path))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorder(clock: Clock) -> Recorder:
    return Recorder(looks=True, clock=clock)


def call(**told: object) -> dict[str, object]:
    return {
        "call_id": "c-1",
        "tool": "shell",
        "arguments": {"command": "x"},
        "started_at": EPOCH + 1.0,
        "ended_at": None,
        "age_seconds": 2.0,
        "next_limit": None,
        "why_ended": None,
        "happened": None,
        "detail": None,
        **told,
    }


def told_run(recorder: Recorder) -> ProviderRun:
    probes = [window.result for window in recorder.windows]
    report = ScenarioReport("a", "1", "scripted", probes)
    return provider_run(report, recorder, proves={"one": "It works."})


def a_probe(recorder: Recorder, clock: Clock, name: str, *, result: Result = Result.PASSED, **told: Any) -> None:
    heard = recorder.hears(QUIET)
    heard.begins(name)
    clock.at += 5.0
    heard.probed(ProbeResult(name, result, told.pop("reason", None), 5.0, told))


async def test_events_calls_and_pictures_go_to_the_probe_they_fell_into(
    recorder: Recorder, clock: Clock, api: Api, scenario: Scenario
) -> None:
    heard = recorder.hears(QUIET)
    for number, name in enumerate(("one", "two")):
        heard.begins(name)
        heard.say(f"prompt  for {name}")
        heard.waits("the turn to end", timedelta(minutes=3))
        clock.at += 1.0
        api.lines = [name]
        facts = {"state": "busy", "before": "ready", "detail": None}
        api.told.append({"seq": number + 1, "at": clock.at, "kind": "session.state", "facts": facts})
        await recorder.look(scenario)
        clock.at += 1.0
        heard.probed(ProbeResult(name, Result.PASSED, None, 2.0))
    first, second = told_run(recorder).probes
    for probe in (first, second):
        assert [event.kind for event in probe.events] == ["prompt", "waits", "session"]
        assert probe.events[0].text == f"for {probe.name}"
        assert probe.events[2].text == "ready → busy"
        assert [shot.frame.lines for shot in probe.shots] == [(probe.name,)]
    assert (first.proves, second.began_seconds) == ("It works.", 2.0)


async def test_the_screen_of_a_failure_is_the_one_before_anything_was_done_about_it(
    recorder: Recorder, clock: Clock, api: Api, scenario: Scenario
) -> None:
    heard = recorder.hears(QUIET)
    heard.begins("one")
    clock.at += 1.0
    api.lines, api.running = ["it hangs"], [call()]
    await recorder.look(scenario)
    clock.at += 4.0
    await recorder.found(scenario)
    heard.waits("the interrupted turn to end", None)
    clock.at += 1.0
    api.lines, api.running = ["interrupted"], [call(ended_at=EPOCH + 1.5, why_ended="cancel", happened="cancelled")]
    facts = {"by": "person"}
    api.told.append({"seq": 1, "at": EPOCH + 0.9, "kind": "turn.interrupting", "facts": facts})
    await recorder.look(scenario)
    heard.probed(ProbeResult("one", Result.FAILED, "why", 1.0))
    (probe,) = told_run(recorder).probes
    (shot,) = probe.shots
    assert (shot.caption, shot.frame.lines, shot.frame.at_seconds) == ("when it failed", ("it hangs",), 5.0)
    assert [(event.kind, event.text) for event in probe.events] == [
        ("turn interrupting", "by the test"),
        ("waits", "for the interrupted turn to end"),
    ]
    assert [found.ended_by for found in probe.calls] == ["cancel"]


async def test_a_limit_that_ran_is_kept_when_the_call_is_over_and_named_as_the_layer(
    recorder: Recorder, clock: Clock, api: Api, scenario: Scenario
) -> None:
    heard = recorder.hears(QUIET)
    heard.begins("one")
    clock.at += 3.0
    api.running = [call(next_limit={"layer": "tool_wait", "in_seconds": 43.0})]
    await recorder.look(scenario)
    clock.at += 50.0
    api.running = [call(ended_at=EPOCH + 46.0, why_ended="tool_wait", happened="unknown")]
    await recorder.look(scenario)
    heard.probed(ProbeResult("one", Result.FAILED, "the wait ended", 53.0))
    (probe,) = told_run(recorder).probes
    (found,) = probe.calls
    assert [(limit.layer, limit.seconds) for limit in found.limits] == [("tool_wait", 45.0)]
    assert (found.waited_seconds, found.ended_by, probe.layer) == (45.0, "tool_wait", "tool_wait, 45 s")


def test_the_layer_that_a_reason_names_is_the_layer(recorder: Recorder, clock: Clock) -> None:
    reason = "TIMEOUT: layer=prompt_ready limit=30s elapsed=30.0s"
    a_probe(recorder, clock, "one", result=Result.FAILED, reason=reason)
    assert told_run(recorder).probes[0].layer == "prompt_ready, 30s"


def test_the_screen_that_only_an_error_holds_is_the_picture(recorder: Recorder, clock: Clock) -> None:
    a_probe(recorder, clock, "one", result=Result.FAILED, reason="no prompt", screen=["last", "words"])
    (shot,) = told_run(recorder).probes[0].shots
    assert shot.frame.lines == ("last", "words")


async def test_the_page_gets_few_pictures_of_a_long_probe_and_the_recording_all(
    recorder: Recorder, clock: Clock, api: Api, scenario: Scenario
) -> None:
    heard = recorder.hears(QUIET)
    heard.begins("one")
    for number in range(40):
        api.lines = [str(number // 2)]
        await recorder.look(scenario)
        clock.at += 0.5
    heard.probed(ProbeResult("one", Result.PASSED, None, 20.0))
    run = told_run(recorder)
    assert len(run.frames) == 20
    assert [shot.frame.lines[0] for shot in run.probes[0].shots][:: MOST_SHOTS - 1] == ["0", "19"]


def test_a_run_takes_no_longer_than_until_it_was_over(recorder: Recorder, clock: Clock) -> None:
    a_probe(recorder, clock, "one")
    recorder.over()
    clock.at += 100.0
    assert told_run(recorder).elapsed_seconds == 5.0


async def test_a_server_that_is_gone_is_no_fault_of_the_run(recorder: Recorder, api: Api, scenario: Scenario) -> None:
    api.gone = True
    await recorder.look(scenario)
    assert (recorder.frames, api.looks) == ([], 1)


async def test_without_a_report_nothing_is_looked_at(api: Api, scenario: Scenario) -> None:
    await Recorder().look(scenario)
    assert api.looks == 0


async def test_what_the_body_raises_comes_out_as_it_is(recorder: Recorder, scenario: Scenario) -> None:
    with pytest.raises(KeyError, match="mine"):
        async with recorder.watching(scenario):
            raise KeyError("mine")


@pytest.mark.parametrize("anyio_backend", [("trio", {"clock": MockClock(autojump_threshold=0)})], ids=["virtual"])
async def test_it_looks_on_while_the_body_runs(recorder: Recorder, api: Api, scenario: Scenario) -> None:
    async with recorder.watching(scenario):
        await anyio.sleep(4 * LOOKS_EVERY.total_seconds())
    looked = api.looks
    assert looked >= 4
    await anyio.sleep(4 * LOOKS_EVERY.total_seconds())
    assert api.looks == looked


@pytest.mark.contract("X4")
async def test_what_is_heard_goes_on_without_secrets(recorder: Recorder, scenario: Scenario) -> None:
    scenario.start_body = {"endpoint": {"base_url": "http://127.0.0.1:1", "api_key": "fake-key-0123456789"}}
    said: list[str] = []
    probed: list[ProbeResult] = []
    await recorder.look(scenario)
    heard = recorder.hears(Listener(said.append, probed.append))
    heard.say("answer  fake-key-0123456789")
    heard.probed(ProbeResult("one", Result.FAILED, "fake-key-0123456789", 0.1, {"screen": ["fake-key-0123456789"]}))
    assert "fake-key" not in f"{said}{probed}"


def test_a_run_that_is_ended_early_says_so_of_the_probe_that_ran(recorder: Recorder, clock: Clock) -> None:
    a_probe(recorder, clock, "one")
    recorder.hears(QUIET).begins("two")
    clock.at += 7.0
    recorder.ended_early("ended from outside")
    assert [(probe.name, probe.result, probe.elapsed_seconds) for probe in told_run(recorder).probes] == [
        ("one", Result.PASSED, 5.0),
        ("two", Result.NOT_RUN, 7.0),
    ]
