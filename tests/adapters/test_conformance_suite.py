"""The suite itself: what it finds wrong, what it leaves out and by which name, and what it says in the end."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

import anyio
import pytest

from adapters.scripted import Scripted
from mcp_agent import registry
from mcp_agent.adapter import Adapter, Capability, Launch, LaunchRequest, Screen, Signal
from mcp_agent.errors import CliNotInstalled, Internal, Limited, UnknownAdapter
from mcp_agent.scenarios.conformance import running
from mcp_agent.scenarios.conformance.capabilities import Setting
from mcp_agent.scenarios.conformance.case import Case, NotReached
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.conformance.questions import ASKED, DESCRIBED
from mcp_agent.scenarios.conformance.results import ConformanceReport
from mcp_agent.scenarios.conformance.running import run_conformance
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.probes import Chat, Evidence, ProbeFailed
from mcp_agent.scenarios.results import Result
from mcp_agent.scenarios.workspace import Workspace
from mcp_agent.timeouts import McpTimeoutSetting

pytestmark = pytest.mark.contract("X3")


@pytest.fixture
def answers() -> list[object]:
    return []


@pytest.fixture
def listener(answers: list[object]) -> Listener:
    return Listener(lambda _: None, answers.append)


@pytest.fixture
def options(short_tmp: Path) -> ChatOptions:
    return ChatOptions("scripted", "scripted", {"PATH": "/usr/bin:/bin", "HOME": str(short_tmp)}, parent=short_tmp)


class Broken(Scripted):
    """Wrong in a place of each part of the suite."""

    def launch(self, request: LaunchRequest) -> Launch:
        launch = super().launch(request)
        key = request.endpoint.api_key if request.endpoint else ""
        return replace(launch, argv=(*launch.argv, key))

    def mcp_timeout(self, limit: timedelta) -> McpTimeoutSetting:
        return McpTimeoutSetting("mcp_tool_timeout_seconds", "ms", limit // timedelta(seconds=1))

    def read(self, screen: Screen) -> Sequence[Signal]:
        raise LookupError("nobody knows this screen")

    def guard(self, text: str) -> str:
        return text.lstrip("/")


class Modest(Scripted):
    """Lacks what can be lacking."""

    lacks: Mapping[Capability, str] = MappingProxyType({need: f"no {need}" for need in Capability})
    permission_modes = ()  # type: ignore[assignment]


def given_adapter(monkeypatch: pytest.MonkeyPatch, adapter: Adapter) -> None:
    """What the entry point leads to."""
    monkeypatch.setattr(registry, "load", lambda name: adapter)


def results(report: ConformanceReport) -> dict[str, Result]:
    return {answer.name: answer.result for answer in report.answers}


@pytest.mark.anyio
async def test_a_fault_of_the_adapter_fails_the_question_that_is_about_it(
    monkeypatch: pytest.MonkeyPatch, options: ChatOptions, listener: Listener
) -> None:
    given_adapter(monkeypatch, Broken())
    monkeypatch.setattr(running, "ASKED", ())

    report = await run_conformance(options, listener)

    failed = {answer.name: answer.reason for answer in report.answers if answer.result is Result.FAILED}
    assert failed == {
        "no key stands in argv or in a representation": "the key stands in argv",
        "an mcp timeout is an exact division": "0:00:30 became 30 ms",
        "a blank screen is not ready": "it raised LookupError: nobody knows this screen",
        "a guarded prompt keeps every character": "'/exit' became 'exit'",
    }
    assert (report.scenario.result, report.exit_code) == (Result.FAILED, 1)


@pytest.mark.anyio
async def test_what_is_lacking_is_skipped_by_name_and_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, options: ChatOptions, listener: Listener, answers: list[object]
) -> None:
    given_adapter(monkeypatch, Modest())

    report = await run_conformance(options, listener)

    told = {answer.name: answer for answer in report.answers}
    usage = told["usage"]
    assert (usage.result, usage.lacks, usage.reason) == (Result.SKIPPED, Capability.USAGE, "usage: no usage")
    assert told["fresh launch"].lacks is Capability.MODEL_ENDPOINT
    modes = told["every permission mode changes what is launched"]
    assert (modes.result, modes.lacks) == (Result.SKIPPED, Setting.PERMISSION_MODES)
    assert {told[question.name].result for question in ASKED} == {Result.SKIPPED}
    assert (report.scenario.result, report.exit_code) == (Result.PASSED, 0)
    assert answers == [*report.answers]


@pytest.mark.anyio
async def test_without_the_cli_the_adapter_is_asked_all_the_same_and_the_rest_is_not_run(
    monkeypatch: pytest.MonkeyPatch, options: ChatOptions, listener: Listener
) -> None:
    missing = CliNotInstalled("Scripted agent", "nowhere", "nothing")
    monkeypatch.setattr(running, "why_not", lambda *_: missing)

    report = await run_conformance(options, listener)

    found = results(report)
    assert {found[question.name] for question in DESCRIBED} == {Result.PASSED}
    assert {found[question.name] for question in ASKED} == {Result.NOT_RUN}
    assert (report.scenario.reason, report.exit_code) == (str(missing), 4)


@pytest.mark.anyio
async def test_an_unknown_provider_is_told_before_anything_is_started(
    options: ChatOptions, listener: Listener, short_tmp: Path
) -> None:
    with pytest.raises(UnknownAdapter):
        await run_conformance(replace(options, provider="nobody"), listener)
    assert list(short_tmp.iterdir()) == []


async def fine(case: Case) -> Evidence:
    """Is fine."""
    return {"provider_version": "1.2"}


async def wrong(case: Case) -> Evidence:
    """Is wrong."""
    raise ProbeFailed("it is wrong")


async def unreached(case: Case) -> Evidence:
    """Needs a session."""
    raise NotReached("the first session was not started")


async def limited(case: Case) -> Evidence:
    """Meets a limit."""
    raise Limited("come back later")


async def endless(case: Case) -> Evidence:
    """Has no answer."""
    await anyio.sleep_forever()
    return {}


async def ask(monkeypatch: pytest.MonkeyPatch, options: ChatOptions, *asked: Asks) -> ConformanceReport:
    """These questions alone, without a server to ask."""
    monkeypatch.setattr(running, "DESCRIBED", ())
    monkeypatch.setattr(running, "ASKED", tuple(Question(each) for each in asked))
    monkeypatch.setattr(running, "why_not", lambda *_: None)
    monkeypatch.setattr(running, "_case", Nowhere)
    return await run_conformance(options, Listener(lambda _: None, lambda _: None))


class Nowhere:
    """A case in which nothing was started."""

    def __init__(self, run: object) -> None:
        pass

    async def __aenter__(self) -> Case:
        return Case(*[None] * 6)  # type: ignore[arg-type]

    async def __aexit__(self, *_: object) -> None:
        pass


@pytest.mark.anyio
async def test_a_failure_does_not_keep_the_other_questions_from_being_asked(
    monkeypatch: pytest.MonkeyPatch, options: ChatOptions
) -> None:
    report = await ask(monkeypatch, options, wrong, unreached, fine)

    assert results(report) == {"wrong": Result.FAILED, "unreached": Result.NOT_RUN, "fine": Result.PASSED}
    assert (report.exit_code, report.scenario.provider_version) == (1, "1.2")


@pytest.mark.anyio
async def test_a_reason_that_points_at_the_servers_log_says_how_it_is_kept(
    monkeypatch: pytest.MonkeyPatch, options: ChatOptions, short_tmp: Path
) -> None:
    space = Workspace(short_tmp)

    async def stumbles(case: Case) -> Evidence:
        """Meets a fault."""
        case.space = space
        case.seen = Chat(case.driver, space, {}, timedelta(0), case.say)
        raise Internal(space.state.log)

    report = await ask(monkeypatch, options, stumbles)

    assert str(report.answers[0].reason) == f"{Internal(space.state.log)} (removed with this run; --keep keeps it)"


async def raising(case: Case) -> Evidence:
    """Meets an adapter that raises."""
    raise KeyError("nobody")


@pytest.mark.anyio
async def test_an_adapter_that_raises_fails_the_question_and_the_next_one_is_asked(
    monkeypatch: pytest.MonkeyPatch, options: ChatOptions
) -> None:
    report = await ask(monkeypatch, options, raising, fine)

    assert results(report) == {"raising": Result.FAILED, "fine": Result.PASSED}
    assert report.answers[0].reason == "it raised KeyError: 'nobody'"


@pytest.mark.anyio
async def test_a_question_that_was_not_reached_is_no_pass(
    monkeypatch: pytest.MonkeyPatch, options: ChatOptions
) -> None:
    report = await ask(monkeypatch, options, fine, unreached)

    assert (report.scenario.result, report.exit_code) == (Result.NOT_RUN, 1)


@pytest.mark.anyio
async def test_a_limit_ends_the_run_with_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, options: ChatOptions
) -> None:
    report = await ask(monkeypatch, options, limited, fine)

    assert results(report) == {"limited": Result.FAILED, "fine": Result.NOT_RUN}
    assert report.exit_code == Limited.exit_code


@pytest.mark.anyio
async def test_a_question_without_an_answer_fails_and_the_next_one_is_asked(
    monkeypatch: pytest.MonkeyPatch, options: ChatOptions
) -> None:
    monkeypatch.setattr(running, "ANSWERED_WITHIN", timedelta(milliseconds=10))

    report = await ask(monkeypatch, options, endless, fine)

    assert results(report) == {"endless": Result.FAILED, "fine": Result.PASSED}
