"""However a command ends, what it started ends with it; a person sees one line and an honest exit code."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BUILT_IN_SLEEP, eventually

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Person

ENDED = {
    signal.SIGINT: (130, "mcp-agent: interrupted\n"),
    signal.SIGTERM: (143, "mcp-agent: ended by SIGTERM\n"),
    signal.SIGHUP: (129, "mcp-agent: ended by SIGHUP\n"),
}
SIGNALS = list(ENDED)

HANGS = "#!/bin/sh\necho starting\nexec sleep 601\n"
"""A CLI that never shows its prompt."""


@pytest.fixture
def never_ready(person: Person, program: Callable[..., Path]) -> tuple[str, ...]:
    """A `session start` that would wait for a prompt for minutes."""
    person.environment["PATH"] = f"{program('claude', HANGS)}:{person.environment['PATH']}"
    return ("session", "start", "--provider", "claude-code", "--trust")


def is_starting(person: Person) -> bool:
    return any("sleep 601" in line for line in person.processes())


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_while_a_session_starts_takes_the_start_back(
    person: Person, never_ready: tuple[str, ...], number: signal.Signals
) -> None:
    command = person.begin(*never_ready)
    eventually(lambda: is_starting(person))
    command.send_signal(number)
    done = person.finish(command)
    assert (done.status, done.err) == ENDED[number]
    eventually(lambda: person.processes() == [])
    eventually(lambda: all(session["state"] == "stopped" for session in person.sessions()))


@pytest.mark.contract("C5")
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_during_a_tool_call_ends_the_call_and_the_session(person: Person, number: signal.Signals) -> None:
    command = person.begin(*person.ask(BUILT_IN_SLEEP))
    eventually(person.sleeping)
    command.send_signal(number)
    done = person.finish(command)
    assert (done.status, done.out, done.err) == (ENDED[number][0], "", ENDED[number][1])
    assert person.processes() == []
    assert [session["state"] for session in person.sessions()] == ["stopped"]


def test_ctrl_c_at_a_terminal_ends_the_call_and_the_session(person: Person) -> None:
    terminal = person.at_terminal(*person.ask(BUILT_IN_SLEEP))
    eventually(person.sleeping)
    terminal.sendintr()
    terminal.expect_exact("mcp-agent: interrupted")
    assert not terminal.expect(["\r\n$"])
    terminal.wait()
    assert terminal.exitstatus == 130
    assert person.processes() == []


def test_a_terminal_that_is_closed_ends_the_call_and_the_session(person: Person) -> None:
    terminal = person.at_terminal(*person.ask(BUILT_IN_SLEEP))
    eventually(person.sleeping)
    terminal.close(force=False)
    eventually(lambda: person.processes() == [])
    assert [session["state"] for session in person.sessions()] == ["stopped"]


def test_a_killed_ask_leaves_its_session_to_the_server_which_stops_it(person: Person) -> None:
    command = person.begin(*person.ask(BUILT_IN_SLEEP))
    eventually(person.sleeping)
    command.kill()
    person.finish(command)
    eventually(lambda: person.processes() == [])
    eventually(lambda: [session["state"] for session in person.sessions()] == ["stopped"])


def test_a_second_signal_leaves_at_once_and_the_server_does_the_rest(person: Person) -> None:
    command = person.begin(*person.ask(BUILT_IN_SLEEP))
    eventually(person.sleeping)
    command.send_signal(signal.SIGINT)
    command.send_signal(signal.SIGTERM)
    assert person.finish(command).status in {130, 143}
    eventually(lambda: person.processes() == [])


def test_a_hangup_that_the_caller_ignores_stays_ignored(person: Person) -> None:
    """As `nohup` does it; the command's own end is the prompt's answer."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        command = person.begin(*person.ask("run exactly this command: `sleep 2; echo over`"))
    finally:
        signal.signal(signal.SIGHUP, before)
    eventually(lambda: any("sleep 2" in line for line in person.processes()))
    command.send_signal(signal.SIGHUP)
    done = person.finish(command)
    assert (done.status, done.err) == (0, "")
    assert "over" in done.out


@pytest.mark.contract("S8")
def test_a_cli_that_dies_during_the_turn_is_a_failed_turn_in_one_line(person: Person) -> None:
    command = person.begin(*person.ask(BUILT_IN_SLEEP))
    eventually(person.sleeping)
    (agent,) = [line for line in person.processes() if "adapters.scripted_agent" in line]
    pid = int(re.findall(r"\d+", agent)[0])
    signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)
    done = person.finish(command)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert "the CLI was ended by signal 9" in done.err
    assert person.processes() == []
