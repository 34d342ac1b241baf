"""Cursor's CLI as its emulator plays it: every probe, two sessions in one directory, and a user's own files."""

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import cast

import pytest

from e2e.place import KEY, ROOT, Done, Place
from e2e.test_chat import run_scenario, silent_seconds
from e2e.test_recovery import kill_tmux
from mcp_agent.scenarios.prompts import (
    recall_note,
    remember_note,
    repeat_exactly,
    run_command,
    run_silent_sleep,
)

PROVIDER = "cursor-cli"
EMULATOR = ROOT / "e2e/cursor_emulator/bin"
WITHIN_SECONDS = 30
SHELL = ("--allow-tool", "execute_shell_command")
THEIRS = b'{\r\n  // mine\r\n  "mcpServers": {"mine": {"command": "/bin/true"}},\r\n  "future": [1,  2],\r\n}\r\n'


@pytest.fixture
def place(place: Place) -> Place:
    """The emulator is on PATH."""
    return replace(place, environment={**place.environment, "PATH": f"{EMULATOR}:{place.environment['PATH']}"})


def start(place: Place, model_url: str, *options: str, **variables: str) -> Done:
    gateway = ("--model-endpoint", model_url, "--model-key-variable", "LOOPBACK_KEY")
    return place.run("session", "start", "-p", PROVIDER, *gateway, *options, LOOPBACK_KEY=KEY, **variables)


def started(place: Place, model_url: str, *options: str, **variables: str) -> str:
    done = start(place, model_url, "--trust", *options, **variables)
    assert done.status == 0, done.err
    return done.out.strip()


def ask(place: Place, session: str, prompt: str) -> str:
    answered = place.run("session", "ask", session, prompt)
    assert answered.status == 0, answered.err
    return answered.out.rstrip("\n")


def eventually(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.1)


def calls(place: Place) -> list[dict[str, object]]:
    return place.run("calls", "list", "--json").list_of("calls")


def configuration(place: Place, text: str) -> None:
    directory = place.root / "home/.config/mcp-agent"
    directory.mkdir(parents=True)
    (directory / "config.toml").write_text(text, encoding="utf-8")


def their_files(place: Place) -> dict[str, bytes]:
    """What a project holds of a person's own, one of the files behind a link."""
    directory = place.work / ".cursor"
    directory.mkdir()
    (place.root / "dotfiles.json").write_bytes(THEIRS)
    (directory / "mcp.json").symlink_to(place.root / "dotfiles.json")
    (directory / "cli.json").write_bytes(b'{ "permissions": {"allow": ["Shell(ls)"], "deny": []} }')
    (directory / "cli.json").chmod(0o640)
    return looks(place)


def looks(place: Place) -> dict[str, bytes]:
    return {
        str(path.relative_to(place.work)): path.read_bytes() + str((path.lstat().st_mode, path.is_symlink())).encode()
        for path in place.work.rglob("*")
        if path.is_file()
    }


@pytest.mark.contract("X1", "X3", "T5", "I4")
def test_every_probe_passes_with_the_emulator_and_the_report_says_so(place: Place) -> None:
    report = run_scenario(place, PROVIDER, "3s")

    assert str(report["provider_version"]).endswith("-emulator")


@pytest.mark.long
@pytest.mark.contract("T5", "W3")
@pytest.mark.parametrize("sleep", ["20s", "90s", "150s"])
def test_a_silent_call_of_any_length_comes_to_its_end(place: Place, sleep: str) -> None:
    assert silent_seconds(run_scenario(place, PROVIDER, sleep)) >= float(sleep.removesuffix("s"))


@pytest.mark.contract("T5", "W3", "W5")
def test_a_call_that_is_waited_for_no_longer_is_unknown_and_found_again(place: Place, model_url: str) -> None:
    configuration(place, '[timeouts]\ntool_wait = "3s"\n')
    session = started(place, model_url, *SHELL)

    assert ask(place, session, run_silent_sleep(6, "k7", patiently=True)) == "DONE_SLEPT_k7"
    begun = [call for call in calls(place) if call["tool"] == "execute_shell_command"]
    assert [(call["why_ended"], call["happened"], call["late"]) for call in begun] == [("tool_wait", "succeeded", True)]


@pytest.mark.contract("T5", "C2")
def test_a_call_that_the_cli_drops_is_cancelled_whatever_progress_it_makes(place: Place, model_url: str) -> None:
    session = started(place, model_url, *SHELL, CURSOR_EMULATOR='{"ceiling_seconds": 2}')
    answer = ask(place, session, run_silent_sleep(120, "k7"))

    assert answer == "FAILED: MCP error -32001: Request timed out"
    eventually(lambda: all(call["ended_at"] for call in calls(place)))
    assert [call["why_ended"] for call in calls(place)] == ["cancel"]


@pytest.mark.contract("A2", "A4", "A5", "S5", "S8")
def test_two_sessions_in_one_directory_are_told_apart_by_their_clis(place: Place, model_url: str) -> None:
    before = their_files(place)
    first, second = started(place, model_url, *SHELL), started(place, model_url, *SHELL)
    for session in (first, second):
        assert ask(place, session, run_command(f"printf %s {session}")) == f"OUTPUT {session}"
    assert sorted((call["session_id"], str(call["arguments"])) for call in calls(place)) == sorted(
        (session, f"{{'command': 'printf %s {session}'}}") for session in (first, second)
    )
    approved = [json.loads(path.read_bytes()) for path in (place.root / "home/.cursor").rglob("mcp-approvals.json")]
    assert [[name.rpartition("-")[0] for name in names] for names in approved] == [["api-bridge"]], "theirs is not ours"
    shared = "".join(path.read_text() for path in (place.work / ".cursor").iterdir())
    assert not any(word in shared for word in (first, second, str(place.state), "token"))

    assert place.run("session", "stop", first).status == 0
    assert ask(place, second, run_command("printf still")) == "OUTPUT still"
    assert place.run("session", "stop", second).status == 0
    assert looks(place) == before
    assert place.run("server", "stop").status == 0
    assert place.processes() == []


@pytest.mark.contract("A4", "S7")
@pytest.mark.parametrize("is_new", [True, False])
def test_files_are_put_back_after_a_server_was_killed(place: Place, model_url: str, *, is_new: bool) -> None:
    before = {} if is_new else their_files(place)
    session = started(place, model_url)
    server = json.loads((place.state / "server.json").read_bytes())
    os.kill(int(server["pid"]), signal.SIGKILL)
    kill_tmux(place)

    assert session in place.run("session", "list").out
    assert looks(place) == before
    assert (place.work / ".cursor").exists() is not is_new


@pytest.mark.contract("A4")
def test_a_file_that_does_not_parse_is_named_with_its_line_and_left_alone(place: Place, model_url: str) -> None:
    (place.work / ".cursor").mkdir()
    (place.work / ".cursor/mcp.json").write_bytes(b'{\n  "mcpServers": {\n    oops\n')
    before = looks(place)
    refused = start(place, model_url, "--trust")

    assert refused.status == 2
    assert f"{place.work}/.cursor/mcp.json: line 3: no JSON" in refused.err
    assert looks(place) == before


@pytest.mark.contract("A5", "S5")
def test_dialogs_wait_for_a_person(place: Place, model_url: str) -> None:
    untrusted = start(place, model_url)
    assert (untrusted.status, "directory trust" in untrusted.err) == (1, True)

    login = place.run("session", "start", "-p", PROVIDER, "--trust")
    assert (login.status, "login" in login.err, "cursor-agent login" in login.err) == (1, True, True)


@pytest.mark.contract("A5", "S3")
def test_a_tool_that_nobody_allowed_is_asked_for(place: Place, model_url: str) -> None:
    session = started(place, model_url)
    assert place.run("session", "send", session, run_command("printf no")).out.startswith("delivered")

    eventually(lambda: "waiting" in place.run("session", "show", session).out)
    assert calls(place) == []


@pytest.mark.contract("I1", "I3", "W4", "S7")
def test_a_session_is_usable_after_an_interrupt_and_after_a_loss(place: Place, model_url: str) -> None:
    session, canary = started(place, model_url, *SHELL), f"canary-{token_hex(4)}"
    assert ask(place, session, remember_note(canary)) == f"ACK_{canary}"

    assert place.run("session", "send", session, run_silent_sleep(600, "never")).out.startswith("delivered")
    eventually(lambda: any(call["ended_at"] is None for call in calls(place)))
    assert place.run("session", "interrupt", session).out.strip() == "interrupted"
    exact = "a b\n\n@file /x !y [Pasted text #1]\n" + "and more " * 200
    assert ask(place, session, repeat_exactly(exact)) == exact.strip()

    kill_tmux(place)
    assert ask(place, session, recall_note()) == canary
    assert native_id(place, session)
    assert place.run("session", "stop", session).status == 0


def native_id(place: Place, session: str) -> bool:
    """The CLI keeps the conversation under the id that we gave it."""
    record = cast("dict[str, str]", json.loads((place.state / "sessions" / session / "session.json").read_bytes()))
    chats = list((place.root / "home/.cursor/chats").glob(f"*/{record['native_session_id']}"))
    return len(chats) == 1 and isinstance(chats[0], Path)
