"""What a person asks of the chat scenario: some probes, less time, a session to look at."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import anyio
import pytest

from adapters.scripted import Scripted
from mcp_agent.adapter import Capability
from mcp_agent.cli.chat_options import Probes
from mcp_agent.errors import UsageError
from mcp_agent.processes import ProcessIdentity, is_alive
from mcp_agent.scenarios import coding_agent_chat
from mcp_agent.scenarios.chat.choosing import chosen
from mcp_agent.scenarios.chat.probe import Probe
from mcp_agent.scenarios.chat.running import LONGER
from mcp_agent.scenarios.coding_agent_chat import run_chat
from mcp_agent.scenarios.probes import PROBES, launch, require
from mcp_agent.scenarios.report.verdict import advice
from mcp_agent.scenarios.results import Result
from mcp_agent.scenarios.workspace import PREFIX, RUN_FILE, sweep

if TYPE_CHECKING:
    from mcp_agent.scenarios.options import ChatOptions, Listener
    from mcp_agent.scenarios.probes import Chat, Evidence

BIN = Path(sys.executable).parent
LAUNCH, NOTE, *_, KEPT, LOSS, STOP = PROBES
A_MINUTE = timedelta(minutes=1)

pytestmark = pytest.mark.contract("X2", "X3")


def test_named_probes_are_asked_in_their_own_order_after_the_one_that_starts_the_session() -> None:
    assert list(chosen(PROBES, [STOP, NOTE, NOTE])) == [LAUNCH, NOTE, STOP]
    assert list(chosen(PROBES, [])) == list(PROBES)


def test_every_probe_says_what_it_proves_and_has_a_bound_of_its_own() -> None:
    assert all(probe.proves.endswith(".") for probe in PROBES.values())
    assert len({probe.proves for probe in PROBES.values()}) == len(PROBES) == 12
    assert all(timedelta(0) < probe.limit < timedelta(minutes=10) for probe in PROBES.values())


def test_only_the_silent_sleep_may_take_as_long_as_the_sleep() -> None:
    slow = [name for name, probe in PROBES.items() if probe.bound(timedelta(hours=1)) > timedelta(hours=1)]
    assert slow == ["silent sleep"]


def test_the_command_lists_its_probes_and_refuses_the_name_of_none() -> None:
    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        scenario = [str(BIN / "mcp-agent"), "test", "coding-agent-chat-e2e", *arguments]
        return subprocess.run(scenario, capture_output=True, text=True, check=False, timeout=60)

    listed = command("--list-probes")
    assert listed.returncode == 0
    assert listed.stdout.splitlines() == [f"{name}: {probe.proves}" for name, probe in PROBES.items()]
    refused = command("-p", "scripted", "--model-server", "scripted", "--probe", "nobody's")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--list-probes" in refused.stderr


def test_the_help_of_a_named_probe_says_that_the_first_one_is_asked_too() -> None:
    _, option = get_args(Probes)
    assert "after the one that starts the session" in option.help


@pytest.mark.anyio
async def test_an_unknown_probe_is_refused_before_anything_is_made(options: ChatOptions, listener: Listener) -> None:
    with pytest.raises(UsageError, match="--probe nobody's"):
        await run_chat(replace(options, probes=("nobody's",)), listener)
    assert list(options.parent.glob(f"{PREFIX}*")) == []


@pytest.mark.anyio
async def test_a_probe_alone_leaves_the_note_that_it_asks_for(options: ChatOptions, listener: Listener) -> None:
    report = await run_chat(replace(options, probes=(KEPT, LOSS)), listener)
    assert [(probe.name, probe.result) for probe in report.probes] == [
        (name, Result.PASSED) for name in (LAUNCH, KEPT, LOSS)
    ]
    assert report.exit_code == 0


async def hangs(chat: Chat) -> Evidence:
    """It comes to an end."""
    await anyio.sleep_forever()
    return {}


async def starts(chat: Chat) -> Evidence:
    """There is a session."""
    return await launch(chat)


async def nods(chat: Chat) -> Evidence:
    """The session is there still."""
    require((await chat.driver.show(chat.id))["state"] == "ready", "it is not ready")
    return {"session": chat.id}


@pytest.mark.anyio
@pytest.mark.contract("T1")
async def test_a_probe_that_outlasts_its_bound_fails_by_it_and_the_next_one_is_asked(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = timedelta(milliseconds=200)
    probes = {"first": Probe(starts, A_MINUTE), "hangs": Probe(hangs, bound), "next": Probe(nods, A_MINUTE)}
    monkeypatch.setattr(coding_agent_chat, "PROBES", probes)
    report = await run_chat(options, listener)
    assert [probe.result for probe in report.probes] == [Result.PASSED, Result.FAILED, Result.PASSED]
    assert report.probes[1].reason == "it was not over within 200ms"
    assert "the probe's own bound" in str(report.probes[1].evidence["layer"])


@pytest.mark.anyio
async def test_what_the_time_of_the_run_does_not_allow_is_not_run_and_never_a_pass(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    probes = {"first": Probe(starts, A_MINUTE), "hangs": Probe(hangs, A_MINUTE), "next": Probe(nods, A_MINUTE)}
    monkeypatch.setattr(coding_agent_chat, "PROBES", probes)
    report = await run_chat(replace(options, timeout=timedelta(seconds=8)), listener)
    assert [probe.result for probe in report.probes] == [Result.PASSED, Result.FAILED, Result.NOT_RUN]
    assert re.fullmatch(r"--timeout 8s was over before it was; it had \d\.\d s of it", str(report.probes[1].reason))
    assert report.probes[1].evidence["layer"] == "--timeout 8s"
    assert report.probes[2].reason == "--timeout 8s was over before it"
    assert report.exit_code == 1
    assert advice(report.exit_code, report.probes) == LONGER


@pytest.mark.anyio
async def test_a_probe_for_what_a_provider_declares_to_lack_is_skipped(
    options: ChatOptions, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scripted, "lacks", {Capability.RESUME: "it forgets"})
    monkeypatch.setattr(coding_agent_chat, "PROBES", {"first": Probe(starts, A_MINUTE), LOSS: PROBES[LOSS]})
    report = await run_chat(options, listener)
    assert (report.probes[1].result, report.probes[1].reason) == (Result.SKIPPED, "resume: it forgets")
    assert report.exit_code == 0


@pytest.mark.anyio
async def test_a_session_that_is_kept_outlives_its_run_which_is_no_pass_and_goes_with_its_server(
    options: ChatOptions, listener: Listener, said: list[str]
) -> None:
    report = await run_chat(replace(options, probes=(NOTE, STOP), keep_session=True), listener)
    assert [probe.result for probe in report.probes] == [Result.PASSED, Result.PASSED, Result.NOT_RUN]
    assert (report.exit_code, report.probes[2].reason) == (1, "the session is kept (--keep-session)")
    assert "without --keep-session" in advice(report.exit_code, report.probes)
    (root,) = options.parent.glob(f"{PREFIX}*")
    server = ProcessIdentity.from_json(json.loads((root / RUN_FILE).read_bytes()))
    await sweep(options.parent)
    assert is_alive(server)
    (told,) = [line for line in said if line.startswith("kept")]
    variable, *command = told.split("  (")[0].split()[1:]
    name, _, home = variable.partition("=")
    done = await anyio.run_process([str(BIN / command[0]), *command[1:]], env={**options.environment, name: home})
    assert done.returncode == 0
    assert not is_alive(server)
    await sweep(options.parent)
    assert not root.exists()
