"""A person's own configuration files are as they were: after a start, use and a stop, and after kill -9 in each.

No file of a person is written at any time, so that nothing has to be put right at the next start.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from e2e.conftest import Model
from e2e.place import KEY, Place
from e2e.users_files import FILES, looks, put_files
from mcp_agent.scenarios.prompts import SHELL_TOOL, run_silent_sleep

BOUND_SECONDS = 60
LAUNCH_MARKS = {"claude-code": "--strict-mcp-config", "codex-cli": "--no-daemon", "pi-cli": "--extension"}
"""Stands in the command line of a CLI that a session runs, and in no other."""

pytestmark = [pytest.mark.real_cli, pytest.mark.contract("A4")]
EVERY_PROVIDER = pytest.mark.parametrize("provider", FILES)


@EVERY_PROVIDER
def test_files_are_as_they_were_after_use_and_after_everything_was_killed_during_it(
    onboarded: Place, model: Model, provider: str
) -> None:
    put_files(onboarded, provider)
    before = looks(onboarded, provider)
    session = start(onboarded, model, provider)
    assert onboarded.run("session", "ask", session, "hello").out == "ECHO: hello\n"
    assert looks(onboarded, provider) == before
    onboarded.run("session", "send", session, run_silent_sleep(600, "never"))
    until(lambda: "running" in onboarded.run("calls", "list").out)
    kill_everything(onboarded)
    assert looks(onboarded, provider) == before
    assert onboarded.run("session", "stop", session).status == 0
    assert onboarded.run("server", "stop", "--now").status == 0
    assert looks(onboarded, provider) == before


@pytest.mark.long
@EVERY_PROVIDER
def test_files_are_as_they_were_after_everything_was_killed_during_the_start_and_during_the_stop(
    onboarded: Place, model: Model, provider: str
) -> None:
    put_files(onboarded, provider)
    before = looks(onboarded, provider)
    with in_background(onboarded, starting(model, provider)):
        until(lambda: is_launched(onboarded, provider))
        kill_everything(onboarded)
    assert looks(onboarded, provider) == before
    session = start(onboarded, model, provider)
    with in_background(onboarded, ("session", "stop", session)):
        until(lambda: is_marked_stopped(onboarded, session))
        kill_everything(onboarded)
    assert looks(onboarded, provider) == before
    session = start(onboarded, model, provider)
    assert onboarded.run("session", "ask", session, "hello").out == "ECHO: hello\n"
    assert onboarded.run("server", "stop", "--now").status == 0
    assert looks(onboarded, provider) == before


@pytest.mark.long
@EVERY_PROVIDER
def test_two_launches_at_the_same_moment_both_come_up_and_touch_nothing(
    onboarded: Place, model: Model, provider: str
) -> None:
    put_files(onboarded, provider)
    before = looks(onboarded, provider)
    words = starting(model, provider)
    with in_background(onboarded, words) as first, in_background(onboarded, words) as second:
        sessions = [each.communicate(timeout=BOUND_SECONDS)[0].strip() for each in (first, second)]
    assert len(set(sessions)) == 2
    for session in sessions:
        assert onboarded.run("session", "ask", session, "hello").out == "ECHO: hello\n"
    assert onboarded.run("server", "stop", "--now").status == 0
    assert looks(onboarded, provider) == before


def starting(model: Model, provider: str) -> tuple[str, ...]:
    endpoint = ("--model-endpoint", model.url, "--model-key-variable", "LOOPBACK_KEY")
    return ("session", "start", "-p", provider, "--trust", "--allow-tool", SHELL_TOOL, *endpoint)


def start(place: Place, model: Model, provider: str) -> str:
    started = place.run(*starting(model, provider), LOOPBACK_KEY=KEY)
    assert started.status == 0, started.err
    return started.out.strip()


def in_background(place: Place, words: tuple[str, ...]) -> "subprocess.Popen[str]":
    environment = {**place.environment, "LOOPBACK_KEY": KEY}
    command = ["mcp-agent", *words]
    quiet, told = subprocess.DEVNULL, subprocess.PIPE
    return subprocess.Popen(command, cwd=place.work, env=environment, stdout=told, stderr=quiet, text=True)


def kill_everything(place: Place) -> None:
    """The server, tmux, the CLI, its bridge and whoever waits for them, as `kill -9` does it."""
    while lines := place.processes():
        for line in lines:
            with suppress(ProcessLookupError):
                os.kill(int(line.split(" ", 1)[0]), signal.SIGKILL)


def is_launched(place: Place, provider: str) -> bool:
    return any(LAUNCH_MARKS[provider] in line for line in place.processes())


def is_marked_stopped(place: Place, session: str) -> bool:
    record = place.state / "sessions" / session / "session.json"
    return bool(json.loads(record.read_text(encoding="utf-8"))["stopped"])


def until(holds: Callable[[], bool]) -> None:
    deadline_seconds = time.monotonic() + BOUND_SECONDS
    while not holds():
        assert time.monotonic() < deadline_seconds
        time.sleep(0.02)
