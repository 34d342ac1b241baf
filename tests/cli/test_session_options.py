"""A deadline of the caller's own, a choice of tools, and sessions that are found after a crash."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BUILT_IN_SLEEP

if TYPE_CHECKING:
    from tests.cli.conftest import Person

START = ("session", "start", "--provider", "scripted", "--trust")


@pytest.mark.contract("T9", "T10")
def test_a_turn_that_outlasts_its_callers_deadline_is_interrupted_and_told(person: Person) -> None:
    done = person.run(*person.ask(BUILT_IN_SLEEP), "--deadline", "3s")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("mcp-agent: TIMEOUT: layer=turn_deadline owner=caller session=s-")
    assert "timeout=3s elapsed=" in done.err
    assert done.err.count("\n") == 1
    assert person.processes() == []


def test_a_turn_within_its_deadline_is_not_touched(person: Person) -> None:
    done = person.run(*person.ask("hello"), "--deadline", "10m")
    assert (done.status, done.out, done.err) == (0, "ECHO: hello\n", "")


@pytest.mark.parametrize("deadline", ["", "5", "0s", "-1s", "inf", "9000h"])
def test_a_deadline_that_is_no_bounded_time_is_a_usage_error(person: Person, deadline: str) -> None:
    assert person.run(*person.ask("hello"), "--deadline", deadline).status == 2
    assert not person.home.exists()


@pytest.mark.contract("A2")
def test_a_session_may_have_some_of_the_tools(person: Person) -> None:
    done = person.run(*person.ask(BUILT_IN_SLEEP), "--tool", "get_tool_call", "--tool", "list_tool_calls")
    assert "execute_shell_command" not in str(person.run("calls", "list", "--json").json)
    assert person.processes() == []
    assert done.err.count("\n") <= 1


@pytest.mark.parametrize("command", [START, ("ask", "--provider", "scripted", "hello")])
def test_a_tool_that_does_not_exist_is_refused(person: Person, command: tuple[str, ...]) -> None:
    done = person.run(*command, "--tool", "get_tool_call", "--tool", "nothing")
    assert (done.status, done.out) == (2, "")
    told = done.err.partition("no tool nothing; this server has: ")[2].strip().split(", ")
    assert {"execute_shell_command", "get_tool_call"} <= {*told}
    assert person.sessions() == []


@pytest.mark.contract("S7")
def test_sessions_are_listed_after_their_server_was_lost(person: Person) -> None:
    session = person.run(*START).out.strip()
    pid = person.run("server", "status", "--json").json["pid"]
    signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGKILL)
    (listed,) = person.sessions()
    assert listed["id"] == session
    person.run("session", "stop", session)
    person.run("server", "stop")
    assert person.run("session", "list", "--json").json == {"sessions": []}
    assert person.run("server", "status").status == 1
