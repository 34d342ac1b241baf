"""The pinned Pi with the scripted model: every probe, an interrupt, a loss, and a user's own home."""

import json
import time
from pathlib import Path
from secrets import token_hex
from typing import cast

import pytest

from e2e.place import KEY, ROOT, Place
from e2e.test_chat import run_scenario, silent_seconds
from e2e.test_recovery import kill_tmux
from mcp_agent.scenarios.prompts import live_input, recall_note, remember_note, repeat_exactly, run_silent_sleep

PROVIDER = "pi-cli"
PACKAGE = "@earendil-works/pi-coding-agent"
KEY_VARIABLE = ("--model-key-variable", "LOOPBACK_KEY")
BEGINS_WITHIN_SECONDS = 30

pytestmark = pytest.mark.real_cli


def start(place: Place, model_url: str, *options: str) -> str:
    gateway = ("--model-endpoint", model_url, *KEY_VARIABLE)
    started = place.run("session", "start", "-p", PROVIDER, *gateway, *options, LOOPBACK_KEY=KEY)
    assert started.status == 0, started.err
    return started.out.strip()


def ask(place: Place, session: str, prompt: str) -> str:
    answered = place.run("session", "ask", session, prompt)
    assert answered.status == 0, answered.err
    return answered.out.rstrip("\n")


def wait_for_call(place: Place) -> None:
    deadline = time.monotonic() + BEGINS_WITHIN_SECONDS
    while "running" not in place.run("calls", "list").out:
        assert time.monotonic() < deadline, "no tool call began"


@pytest.mark.contract("X1", "X3", "T5", "T10")
def test_every_probe_passes_with_the_pinned_pi(place: Place) -> None:
    pinned = json.loads((ROOT / "e2e/toolchain/package.json").read_text(encoding="utf-8"))["dependencies"]
    report = run_scenario(place, PROVIDER, "5s")

    assert report["provider_version"] == pinned[PACKAGE]


@pytest.mark.long
@pytest.mark.contract("T5")
def test_a_silent_call_outlives_the_clis_own_60_seconds(place: Place) -> None:
    assert silent_seconds(run_scenario(place, PROVIDER, "150s")) >= 150


@pytest.mark.contract("I3", "I4", "W4", "S7")
def test_a_session_is_usable_after_an_interrupt_and_after_a_loss(place: Place, model_url: str) -> None:
    session, canary = start(place, model_url), f"canary-{token_hex(4)}"
    assert ask(place, session, remember_note(canary)) == f"ACK_{canary}"

    assert place.run("session", "send", session, run_silent_sleep(60, "WORK")).out.startswith("delivered")
    wait_for_call(place)
    assert place.run("session", "send", session, live_input("x")).out.startswith("queued")
    assert place.run("session", "interrupt", session).out.strip() == "interrupted"
    exact = "a\tb\n\n\t\u2409 [paste #1 +2 lines]\n" + "\tand more" * 200
    assert ask(place, session, repeat_exactly(exact)) == exact

    kill_tmux(place)
    assert ask(place, session, recall_note()) == canary
    assert place.run("session", "stop", session).status == 0


@pytest.mark.contract("A4", "A5", "T5")
def test_a_users_own_files_serve_and_stay_as_they_are(place: Place, model_url: str) -> None:
    agent = a_users_files(place)
    (place.work / ".pi").mkdir()
    (place.work / ".pi/settings.json").write_bytes(b'{"theme": "light"}\r\n')
    before = looks(agent), looks(place.work)

    gateway = ("--model-endpoint", model_url, *KEY_VARIABLE)
    blocked = place.run("session", "start", "-p", PROVIDER, *gateway, LOOPBACK_KEY=KEY)
    assert (blocked.status, "directory trust" in blocked.err) == (1, True)

    session = start(place, model_url, "--trust")
    assert ask(place, session, remember_note("note-1")) == "ACK_note-1"
    (extension,) = place.state.glob(f"sessions/{session}/*.js")
    assert "timeout" not in extension.read_text(encoding="utf-8").lower()
    assert place.run("server", "stop", "--now").status == 0

    assert (looks(agent), looks(place.work)) == before
    assert list((agent / "sessions").rglob(f"*_{native_id(place, session)}.jsonl"))
    assert place.processes() == []


def a_users_files(place: Place) -> Path:
    """An agent directory with a login, models and servers of its own, one of them behind a link."""
    agent = place.root / "home/.pi/agent"
    agent.mkdir(parents=True)
    elsewhere = place.root / "dotfiles.json"
    elsewhere.write_bytes(b'{"lastChangelogVersion": "1.6.0",\r\n "mine": [1, 2],   "theme": "dark"}')
    (agent / "settings.json").symlink_to(elsewhere)
    (agent / "auth.json").write_bytes(b'{"openai": {"type": "api_key", "key": "sk-nobody"}}')
    (agent / "auth.json").chmod(0o600)
    (agent / "mcp.json").write_bytes(b'{"mcpServers": {"mine": {"command": "/bin/true", "enabled": false}}, "x": 1}\n')
    (agent / "models.json").write_bytes(b'{"providers": {}}')
    (agent / "models.json").chmod(0o640)
    return agent


def looks(directory: Path) -> dict[str, tuple[bytes, int, bool]]:
    """The files of a user, as they are; conversations and what the CLI keeps for itself are not among them."""
    names = {"settings.json", "auth.json", "mcp.json", "models.json", "trust.json"}
    return {
        str(path): (path.read_bytes(), path.stat().st_mode, path.is_symlink())
        for path in directory.rglob("*.json")
        if path.name in names
    }


def native_id(place: Place, session: str) -> str:
    record = json.loads((place.state / "sessions" / session / "session.json").read_bytes())
    return cast("dict[str, str]", record)["native_session_id"]
