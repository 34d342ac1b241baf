"""A real run with the scripted agent, and the report it leaves: also when it fails, leaks, or is ended early."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import jsonschema
import pytest

from mcp_agent.errors import UnknownAdapter, UsageError
from mcp_agent.scenarios import coding_agent_chat, prompts, reported
from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.probes import Probe, ProbeFailed, launch, note_canary
from mcp_agent.scenarios.report import secrets
from mcp_agent.scenarios.report.json_form import schema
from mcp_agent.scenarios.report.junit import plain
from mcp_agent.scenarios.report.masking import PIECE
from mcp_agent.scenarios.reported import ENDED_EARLY, providers_of, run_all
from mcp_agent.scenarios.results import Result

if TYPE_CHECKING:
    from mcp_agent.scenarios.chat.probe import Asks
    from mcp_agent.scenarios.probes import Chat, Evidence

pytestmark = pytest.mark.anyio

BIN = Path(sys.executable).parent
QUIET = Listener(say=lambda _: None, probed=lambda _: None)
BOUND_SECONDS = 60


@pytest.fixture
def options(short_tmp: Path) -> ChatOptions:
    environment = {"PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin", "HOME": str(short_tmp), "LANG": "C.UTF-8"}
    return ChatOptions("scripted", "scripted", environment, sleep=timedelta(seconds=1), parent=short_tmp)


def use(monkeypatch: pytest.MonkeyPatch, **asks: Asks) -> None:
    probes = {name: Probe(ask, timedelta(minutes=2)) for name, ask in asks.items()}
    monkeypatch.setattr(coding_agent_chat, "PROBES", probes)
    monkeypatch.setattr(reported, "PROBES", probes)


def told(directory: Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(report, schema())
    return report


@pytest.mark.contract("X4", "A2")
async def test_a_run_that_shows_its_secrets_leaves_a_report_without_them(
    options: ChatOptions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    canaries: list[str] = []

    async def leaks(chat: Chat) -> Evidence:
        """It shows what it must not."""
        canaries.extend([*secrets.of_state(chat.space.state), *secrets.of_endpoint(chat.start_body)])
        shown = " ".join(canaries)
        chat.say(f"answer  {shown}")
        sent = await chat.driver.send(chat.id, f"!say {shown}")
        await chat.driver.turn(chat.id, str(sent["turn_id"]), limit=timedelta(seconds=20))
        raise ProbeFailed(f"it said {shown}")

    use(monkeypatch, launch=launch, leaks=leaks)
    done = await run_all(options, QUIET, tmp_path)
    assert len(canaries) == 3
    assert all(len(canary) >= PIECE for canary in canaries)
    files = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    assert set(files) == {"index.html", "report.json", "junit.xml", "scripted.cast"}
    everything = {**files, "--json": json.dumps(done.as_json())}
    assert [(name, canary) for name, text in everything.items() for canary in canaries if canary in text] == []
    assert "•••" in files["scripted.cast"]


@pytest.mark.contract("X4")
async def test_a_failed_run_is_reported_with_expected_seen_and_the_screen(
    options: ChatOptions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def fails(chat: Chat) -> Evidence:
        """The answer is the one that was asked for."""
        await chat.turn("Answer with exactly the following and nothing else: HELLO", expect="GOODBYE")
        return {}

    use(monkeypatch, launch=launch, fails=fails)
    done = await run_all(options, QUIET, tmp_path)
    assert done.exit_code == 1
    (provider,) = told(tmp_path)["providers"]
    first, second = provider["probes"]
    assert (first["result"], second["result"]) == ("passed", "failed")
    assert (second["expected"], second["proves"]) == (
        "the answer GOODBYE",
        "The answer is the one that was asked for.",
    )
    assert {"prompt", "waits", "session", "turn ended"} <= {event["kind"] for event in second["events"]}
    opened = (tmp_path / "index.html").read_text(encoding="utf-8").split('<details class="probe" open>')[1]
    assert "the answer GOODBYE" in opened
    assert "<svg" in opened.split("Timeline")[0]


@pytest.mark.contract("X4")
async def test_a_run_that_failed_while_a_tool_ran_shows_the_screen_before_the_interrupt_and_the_end_of_the_call(
    options: ChatOptions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def fails(chat: Chat) -> Evidence:
        """The command ends."""
        await chat.begun_call(await chat.begin(prompts.run_command("sleep 600")))
        raise ProbeFailed("it runs for too long")

    use(monkeypatch, launch=launch, fails=fails)
    done = await run_all(options, QUIET, tmp_path)
    probe = told(tmp_path)["providers"][0]["probes"][1]
    assert done.run is not None
    last = done.run.providers[0].probes[1].shots[-1]
    assert (last.caption, "working · esc to interrupt" in plain(last.frame.lines)[-1]) == ("when it failed", True)
    (call,) = probe["calls"]
    assert (call["ended_seconds"] is not None, call["happened"]) == (True, "cancelled")
    events = [(event["kind"], event["text"]) for event in probe["events"]]
    assert ("turn interrupting", "by the test") in events
    assert [event["at_seconds"] for event in probe["events"]] == sorted(e["at_seconds"] for e in probe["events"])
    assert any(kind == "turn ended" and "by the test" in text for kind, text in events)


@pytest.mark.contract("X4")
async def test_a_run_that_is_ended_early_leaves_a_report_that_is_no_pass(
    options: ChatOptions, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    began = anyio.Event()

    async def hangs(chat: Chat) -> Evidence:
        """It comes to an end."""
        began.set()
        await anyio.sleep_forever()
        return {}

    use(monkeypatch, launch=launch, note=note_canary, hangs=hangs)
    with anyio.fail_after(BOUND_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(run_all, options, QUIET, tmp_path)
            await began.wait()
            group.cancel_scope.cancel()
    report = told(tmp_path)
    assert (report["result"], report["exit_code"]) == ("not run", 1)
    assert [(probe["name"], probe["result"]) for probe in report["providers"][0]["probes"]] == [
        ("launch", "passed"),
        ("note", "passed"),
        ("hangs", "not run"),
    ]
    assert report["providers"][0]["probes"][2]["reason"] == ENDED_EARLY


async def test_a_provider_that_cannot_be_run_here_has_a_report_too(options: ChatOptions, tmp_path: Path) -> None:
    missing = ChatOptions("pi-cli", "scripted", options.environment, parent=options.parent)
    done = await run_all(missing, QUIET, tmp_path)
    report = told(tmp_path)
    assert (done.exit_code, report["exit_code"], report["result"]) == (4, 4, "not run")
    assert "install" in report["providers"][0]["reason"]


async def test_several_providers_are_one_json_object(options: ChatOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reported, "providers_of", lambda _: ("pi-cli", "codex-cli"))
    done = await run_all(options, QUIET)
    told = done.as_json()
    assert (told["result"], told["exit_code"], done.exit_code) == (Result.NOT_RUN, 4, 4)
    assert [each["provider"] for each in told["providers"]] == ["pi-cli", "codex-cli"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["a file", "a file/below"])
async def test_a_directory_that_cannot_be_written_is_refused_before_anything_is_started(
    options: ChatOptions, tmp_path: Path, name: str
) -> None:
    (tmp_path / "a file").write_text("")
    with pytest.raises(UsageError, match="--report"):
        await run_all(options, QUIET, tmp_path / name)
    assert list(options.parent.glob("mcp-agent-e2e-*")) == []


async def test_an_unknown_provider_is_refused_and_leaves_no_report(options: ChatOptions, tmp_path: Path) -> None:
    nobody = ChatOptions("nobody", "scripted", options.environment)
    with pytest.raises(UnknownAdapter):
        await run_all(nobody, QUIET, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_all_are_the_providers_with_a_program_of_their_own() -> None:
    assert set(providers_of("all")) == {"claude-code", "codex-cli", "cursor-cli", "pi-cli"}
