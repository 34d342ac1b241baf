"""`session stop` and `session resume` as people use them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import eventually

if TYPE_CHECKING:
    from tests.cli.conftest import Person

START = ("session", "start", "--provider", "scripted", "--trust")


def start(person: Person, *options: str) -> str:
    started = person.run(*START, *options)
    assert started.status == 0, started.err
    return started.out.strip()


def states(person: Person) -> dict[str, str]:
    return {str(session["id"]): str(session["state"]) for session in person.sessions()}


@pytest.mark.contract("S8")
def test_several_sessions_and_all_of_them_are_stopped_at_once(person: Person) -> None:
    one, two, three = (start(person, "--name", name) for name in ("one", "two", "three"))

    both = person.run("session", "stop", "one", "s-0000", two)
    assert (both.status, both.out) == (2, "2 sessions were stopped; 0 tool calls were cancelled\n")
    assert (both.err.count("\n"), "s-0000" in both.err) == (1, True)
    assert states(person) == {one: "stopped", two: "stopped", three: "ready"}

    everything = person.run("session", "stop", "--all", "--cascade", "--json")
    assert everything.json == {
        "sessions": [{"session_id": three, "name": "three", "state": "stopped", "cancelled_calls": 0}],
        "executions": 0,
        "executions_cancelled": True,
    }
    assert person.run("session", "stop", "--all").out == "0 sessions were stopped; 0 tool calls were cancelled\n"
    assert person.processes() == []


@pytest.mark.contract("S8")
def test_a_stop_has_one_shape_for_programs_and_counts_each_session_once(person: Person) -> None:
    one = start(person, "--name", "one")
    stopped = {"session_id": one, "name": "one", "state": "stopped", "cancelled_calls": 0}
    below = {"executions": 0, "executions_cancelled": False}
    assert person.run("session", "stop", "one", one, "--json").json == {"sessions": [stopped], **below}
    partly = person.run("session", "stop", "one", "nobody", "nothing", "--json")
    assert (partly.status, partly.json["sessions"], partly.json["error"]["exit_code"]) == (2, [stopped], 2)
    assert partly.err.count("\n") == 2
    wrong = person.run("session", "stop", "nobody", "--json")
    assert (wrong.status, wrong.json["sessions"], wrong.json["error"]["kind"]) == (2, [], "UnknownSession")

    assert person.run("session", "stop", "one").out == "was stopped already\n"
    person.run("server", "stop")
    assert person.run("session", "stop", "one").out == "was stopped already\n"
    told = person.run("session", "events", "one").out
    assert told.count("session.closed") == 1
    two = start(person, "--name", "two")
    both = person.run("session", "stop", "one", "two", two).out
    assert both == "1 session was stopped; 0 tool calls were cancelled; 1 session was stopped already\n"


@pytest.mark.parametrize("arguments", [(), ("--all", "one")])
def test_what_to_stop_is_said_in_one_way(person: Person, arguments: tuple[str, ...]) -> None:
    refused = person.run("session", "stop", *arguments)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "--all" in refused.err
    assert not person.home.exists()


@pytest.mark.contract("S7")
def test_a_session_is_resumed_by_its_name_after_it_exited_and_after_it_was_stopped(person: Person) -> None:
    session = start(person, "--name", "one")
    assert person.run("session", "ask", "one", "hello").out == "ECHO: hello\n"
    pane = person.run("session", "show", "one", "--json").json["pane"]
    os.kill(pane["pid"], signal.SIGTERM)
    refused = person.run("session", "send", "one", "again")
    assert refused.status == 1
    assert re.search(rf"is over: exited.*`mcp-agent session resume {session}`", refused.err)

    assert person.run("session", "resume", "one").out == f"{session} ready\n"
    assert person.run("session", "resume", "one", "--json").json["state"] == "ready"
    assert person.run("session", "stop", "one").status == 0
    assert person.run("server", "stop").status == 0
    assert person.run("session", "resume", "one").out == f"{session} ready\n"
    assert person.run("session", "ask", "one", "again").out == "ECHO: again\n"
    turns = person.run("session", "show", "one", "--json").json["turns"]
    assert [turn["prompt"] for turn in turns] == ["hello", "again"]


@pytest.mark.contract("S7")
def test_a_name_that_somebody_else_has_by_now_keeps_a_session_from_being_resumed(person: Person) -> None:
    first = start(person, "--name", "one")
    person.run("session", "stop", first)
    second = start(person, "--name", "one")
    refused = person.run("session", "resume", first)
    assert (refused.status, refused.err.count("\n"), second in refused.err) == (1, 1, True)


@pytest.mark.contract("S7")
def test_what_cannot_be_resumed_is_refused_in_one_line(person: Person) -> None:
    for arguments in (
        ("s-0000",),
        ("nobody",),
        ("one", "--model-key-variable", "NOT_SET"),
        ("one", "--env", "NOT_SET"),
    ):
        refused = person.run("session", "resume", *arguments)
        assert (refused.status, refused.out, refused.err.count("\n")) == (2, "", 1)


@pytest.mark.contract("A3", "S7")
def test_variables_of_a_stopped_session_must_be_named_again(person: Person) -> None:
    session = start(person, "--env", "TOKEN=alpha")
    person.run("session", "stop", session)
    refused = person.run("session", "resume", session)
    assert (refused.status, "TOKEN" in refused.err, "alpha" in refused.err) == (2, True, False)
    assert person.run("session", "resume", session, "--env", "TOKEN=beta").status == 0


@pytest.mark.contract("S7")
def test_a_conversation_of_the_provider_is_gone_on_with_in_a_session_of_its_own(person: Person) -> None:
    first = start(person)
    person.run("session", "ask", first, "hello")
    native = person.run("session", "show", first, "--json").json["native_session_id"]
    assert first in person.run(*START, "--resume", native).err
    person.run("session", "stop", first)
    second = start(person, "--resume", native)
    shown = person.run("session", "show", second, "--json").json
    assert (shown["native_session_id"], shown["turns"]) == (native, [])
    assert "ECHO: hello" in "\n".join(shown["screen"])
    assert person.run(*START, "--resume", "../up").status == 2


@pytest.mark.contract("S9")
def test_a_server_of_another_checkout_serves_and_is_told_of(person: Person) -> None:
    program = (
        "import os; from mcp_agent.server import starting; starting.PACKAGE = '/elsewhere';"
        " from mcp_agent.server.serving import main; main(os.environ)"
    )
    with subprocess.Popen([sys.executable, "-c", program], env=person.environment) as server:
        eventually(lambda: person.run("server", "status").status == 0)
        started = person.run(*START)
        assert started.status == 0
        assert "the running server is the one of /elsewhere" in started.err
        person.run("server", "stop", "--now")
        assert server.wait(30) == 0
    assert person.run(*START).err == ""
