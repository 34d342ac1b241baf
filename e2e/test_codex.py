"""Codex CLI, the real program: the chat scenario, an interrupt, a resume, and a user's own configuration.

With the CLI's default model the scripted model has its tools behind a program, with a model that the CLI does not know
it has them directly.
"""

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import cast

import pytest

from e2e.place import KEY, ROOT, Place
from e2e.test_chat import run_scenario, silent_seconds
from e2e.test_recovery import ask, assert_nothing_left, kill_tmux, show, turns
from mcp_agent.scenarios.prompts import SHELL_TOOL, recall_note, remember_note, run_silent_sleep

PROVIDER = "codex-cli"
PACKAGE = "@openai/codex"
BOUND_SECONDS = 60
CONFIG = b'# mine\r\nmodel_reasoning_effort = "low"   # keep\n\n[future]\nkey = 1\n'

pytestmark = pytest.mark.real_cli


@pytest.fixture
def canary() -> str:
    return f"canary-{token_hex(4)}"


@pytest.fixture
def config(place: Place) -> Path:
    """A user's own configuration, behind a link and with an odd mode."""
    kept = place.root / "home/dotfiles/codex.toml"
    kept.parent.mkdir()
    kept.write_bytes(CONFIG)
    kept.chmod(0o640)
    link = place.root / "home/.codex/config.toml"
    link.parent.mkdir()
    link.symlink_to(kept)
    return link


@pytest.fixture
def session(place: Place, model_url: str, config: Path) -> str:
    subprocess.run(["git", "init", "--quiet", place.work], check=True)
    return start(place, model_url, "--trust")


def start(place: Place, model_url: str, *more: str) -> str:
    endpoint = ("--model-endpoint", model_url, "--model-key-variable", "LOOPBACK_KEY")
    options = ("-p", PROVIDER, "--allow-tool", SHELL_TOOL, *endpoint, *more)
    started = place.run("session", "start", *options, LOOPBACK_KEY=KEY)
    assert started.status == 0, started.err
    return started.out.strip()


@pytest.mark.contract("X1", "X3", "T10")
def test_every_probe_passes_with_the_pinned_codex_cli(place: Place) -> None:
    pinned = json.loads((ROOT / "e2e/toolchain/package.json").read_text(encoding="utf-8"))["dependencies"]
    report = run_scenario(place, PROVIDER, "20s")
    assert report["provider_version"] == pinned[PACKAGE]
    assert silent_seconds(report) >= 20


@pytest.mark.contract("I4", "C2", "W4")
def test_a_turn_that_is_interrupted_during_its_call_leaves_the_session_usable(
    place: Place, session: str, canary: str
) -> None:
    assert ask(place, session, remember_note(canary)) == f"ACK_{canary}"
    place.run("session", "send", session, run_silent_sleep(600, "never"))
    until_a_call_runs(place, session)
    assert place.run("session", "interrupt", session).status == 0
    assert [turn["outcome"] for turn in turns(show(place, session))] == ["completed", "interrupted"]
    assert calls(place, session)[-1]["ended_at"] is not None
    assert ask(place, session, recall_note()) == canary
    assert_nothing_left(place)


@pytest.mark.contract("S7", "A4", "A5")
def test_a_lost_conversation_goes_on_and_the_users_configuration_is_as_it_was(
    place: Place, session: str, canary: str, config: Path
) -> None:
    assert ask(place, session, remember_note(canary)) == f"ACK_{canary}"
    before = show(place, session)
    kill_tmux(place)
    assert ask(place, session, recall_note()) == canary
    assert show(place, session)["native_session_id"] == before["native_session_id"]
    assert_nothing_left(place)
    kept = place.root / "home/dotfiles/codex.toml"
    assert (config.readlink(), kept.read_bytes(), kept.stat().st_mode & 0o777) == (kept, CONFIG, 0o640)


@pytest.mark.contract("S5", "A5")
def test_a_repository_is_not_trusted_without_consent(place: Place, model_url: str, config: Path) -> None:
    subprocess.run(["git", "init", "--quiet", place.work], check=True)
    options = ("-p", PROVIDER, "--model-endpoint", model_url, "--model-key-variable", "LOOPBACK_KEY")
    started = place.run("session", "start", *options, "--json", LOOPBACK_KEY=KEY)
    assert (started.json["state"], started.json["detail"]) == ("blocked", "directory trust")
    assert config.read_bytes() == CONFIG
    assert_nothing_left(place)


@pytest.mark.contract("S3", "T10")
def test_a_model_that_is_down_is_busy_with_the_reason_and_the_callers_deadline_ends_the_turn(place: Place) -> None:
    session = start(place, "http://127.0.0.1:9", "--trust")
    sent = place.run("session", "ask", session, "hello", "--deadline", "8s", "--json")
    assert sent.status != 0
    (turn,) = turns(show(place, session))
    assert (turn["outcome"], turn["reason"]) == ("interrupted", "deadline")
    told = place.run("session", "events", session, "--json").out
    assert "reconnecting: Connection failed" in told
    assert show(place, session)["state"] == "ready"


@pytest.mark.long
@pytest.mark.contract("T4")
@pytest.mark.parametrize("model", [(), ("--model", "scripted-1")], ids=["by program", "directly"])
def test_a_silent_call_of_150_seconds_ends_in_its_turn(place: Place, model: tuple[str, ...]) -> None:
    assert silent_seconds(run_scenario(place, PROVIDER, "150s", *model)) >= 150


def calls(place: Place, session: str) -> list[Mapping[str, object]]:
    listed = place.run("calls", "list", "--session", session, "--json").json
    return cast("list[Mapping[str, object]]", listed["calls"])


def until_a_call_runs(place: Place, session: str) -> None:
    deadline_seconds = time.monotonic() + BOUND_SECONDS
    while not any(call["ended_at"] is None for call in calls(place, session)):
        assert time.monotonic() < deadline_seconds, "no call began"
        time.sleep(0.2)
