"""The commands as they are meant to be used, and the shapes of their JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mcp_agent import __version__
from tests.cli.conftest import BUILT_IN_SLEEP, eventually

if TYPE_CHECKING:
    from tests.cli.conftest import Person

START = ("session", "start", "--provider", "scripted", "--trust")
LIMIT = "CODING_AGENT_MCP_TOOL_TIMEOUT"
SESSION_KEYS = {
    *("id", "name", "provider", "provider_version", "state", "detail", "resets_at", "advice", "working_directory"),
    *("native_session_id", "created_at", "current_turn", "bridge", "idle_seconds", "pane"),
    *("idle_retention", "closed", "execution", "parent_session"),
}
TURN_KEYS = {
    *("id", "prompt", "live_inputs", "started_at", "ended_at", "outcome", "final_text", "error", "cause", "source"),
    *("submission", "message_id", "reason", "usage"),
}


def test_the_version_and_the_help_start_nothing(person: Person) -> None:
    assert person.run("--version").out == f"{__version__}\n"
    for command in ((), ("ask",), ("session",), ("session", "start"), ("server", "stop"), ("test",)):
        assert "Usage: mcp-agent" in person.run(*command, "--help").out
    assert not person.home.exists()


@pytest.mark.contract("S9")
def test_the_server_is_started_shown_and_stopped(person: Person) -> None:
    assert person.run("server", "status").out == "not running\n"
    stopped = person.run("server", "status", "--json")
    assert (stopped.status, stopped.json) == (1, {"running": False})
    nothing = person.run("server", "stop", "--json")
    assert (nothing.status, nothing.json) == (
        0,
        {"stopped_sessions": 0, "cancelled_executions": 0, "was_running": False},
    )
    assert person.run("server", "stop").out == "not running\n"
    assert person.run("session", "list", "--json").json == {"sessions": []}
    assert not person.home.exists()

    assert person.run("serve", "--detach").status == 0
    running = person.run("server", "status", "--json")
    assert running.status == 0
    assert set(running.json) == {
        *("running", "pid", "version", "package", "home", "socket", "sessions", "running_calls"),
        *("warnings", "settings", "stopping"),
    }
    assert (running.json["running"], running.json["version"]) == (True, __version__)
    assert "running: pid" in person.run("server", "status").out
    assert person.run("serve", "--detach").status == 0
    assert person.run("server", "status", "--json").json["pid"] == running.json["pid"]
    nothing_ended = {"stopped_sessions": 0, "cancelled_executions": 0, "was_running": True}
    assert person.run("server", "stop", "--json").json == nothing_ended
    assert person.run("server", "status").status == 1


def test_ask_prints_the_final_answer_alone_and_leaves_no_session(person: Person) -> None:
    done = person.run(*person.ask("hello"))
    assert (done.status, done.out, done.err) == (0, "ECHO: hello\n", "")
    assert [session["state"] for session in person.sessions()] == ["stopped"]
    assert person.processes() == []


def test_ask_takes_its_prompt_from_standard_input(person: Person) -> None:
    done = person.run(*person.ask("-"), stdin="zwei\nZeilen ü\n".encode())
    assert (done.status, done.out) == (0, "ECHO: zwei\nZeilen ü\n\n")


def test_ask_in_json_tells_the_whole_turn(person: Person) -> None:
    done = person.run(*person.ask("run exactly this command: `echo from the shell`"), "--json").json
    assert set(done) == {"session_id", "provider", "turn"}
    assert set(done["turn"]) == TURN_KEYS | {"session_state", "session_detail"}
    assert (done["provider"], done["turn"]["outcome"]) == ("scripted", "completed")
    assert "from the shell" in done["turn"]["final_text"]


def test_a_session_is_started_shown_prompted_listed_and_stopped(person: Person) -> None:
    started = person.run(*START)
    session = started.out.strip()
    assert re.fullmatch(r"s-[0-9a-f]{10}", session)

    sent = person.run("session", "send", session, "hello", "--json").json
    assert set(sent) == {"outcome", "turn_id", "message_id", "reason"}
    assert sent["outcome"] == "delivered"

    shown = person.run("session", "show", session, "--json").json
    assert set(shown) == SESSION_KEYS | {"attach", "screen", "turns", "calls"}
    assert [(turn["id"], turn["prompt"], set(turn)) for turn in shown["turns"]] == [
        (sent["turn_id"], "hello", TURN_KEYS)
    ]
    plain = person.run("session", "show", session).out
    assert shown["attach"] in plain
    assert str(person.work) in plain

    (listed,) = person.sessions()
    assert set(listed) == SESSION_KEYS
    (row,) = [line for line in person.run("session", "list").out.splitlines() if session in line]
    assert str(person.work) in row

    assert person.run("session", "interrupt", session, "--json").json == {"interrupted": False}
    assert person.run("session", "stop", session).out == "stopped; 0 tool calls were cancelled\n"
    assert person.run("session", "stop", session, "--json").json["sessions"][0]["state"] == "stopped"
    assert person.processes() == []
    refused = person.run("session", "send", session, "hello")
    assert (refused.status, refused.err.count("\n")) == (1, 1)


def test_a_started_session_in_json_is_the_sessions_view(person: Person) -> None:
    session = person.run(*START, "--json").json
    assert set(session) == SESSION_KEYS
    assert (session["state"], session["working_directory"]) == ("ready", str(person.work))


@pytest.mark.contract("A5")
def test_a_session_that_a_dialog_blocks_says_so_and_how_to_go_on(person: Person) -> None:
    done = person.run("session", "start", "--provider", "scripted", "--json")
    assert done.status == 1
    assert done.json["state"] == "blocked"
    assert "is blocked by a dialog" in done.err
    assert done.err.count("\n") == 1
    asked = person.run("ask", "--provider", "scripted", "hello")
    assert (asked.status, asked.out) == (1, "")
    assert [session["state"] for session in person.sessions()] == ["blocked", "stopped"]


def test_the_server_can_be_stopped_with_all_it_runs(person: Person) -> None:
    session = person.run(*START, "--allow-tool", "execute_shell_command").out.strip()
    assert person.run("session", "send", session, BUILT_IN_SLEEP).out.startswith("delivered t-")
    stopped = person.run("server", "stop", "--now", "--json").json
    assert stopped == {"stopped_sessions": 1, "cancelled_executions": 0, "was_running": True}
    assert person.processes() == []


@pytest.mark.contract("T2")
def test_a_limit_that_cannot_be_used_is_told_once_by_what_starts_a_server_or_a_session(person: Person) -> None:
    person.environment[LIMIT] = "90"
    for command in (START, person.ask("hello"), START):
        done = person.run(*command)
        assert done.status == 0
        assert done.err.count("\n") == done.err.count("warning: ") == done.err.count(LIMIT) == 1
    assert person.run("session", "list").err == ""
    person.run("server", "stop", "--now")
    assert person.run("session", "show", "s-0").err.count("warning: ") == 1


@pytest.mark.contract("T2")
def test_a_limit_that_the_running_server_does_not_know_is_told(person: Person) -> None:
    person.environment[LIMIT] = "45m"
    assert person.run("serve", "--detach").err == person.run(*START).err == ""
    person.environment[LIMIT] = "30m"
    done = person.run(*START)
    assert done.err == (
        f"warning: {LIMIT}=30m is not in force: the running server was started with 45m;"
        " run `mcp-agent server stop` first\n"
    )


@pytest.mark.contract("S9")
def test_a_server_whose_socket_was_removed_is_replaced_and_its_sessions_are_found_again(person: Person) -> None:
    session = person.run(*START).out.strip()
    next(person.home.rglob("server.sock")).unlink()
    assert [(one["id"], one["state"]) for one in person.sessions()] == [(session, "ready")]


@pytest.mark.contract("S9")
def test_stop_now_ends_the_sessions_that_a_stopped_server_left(person: Person) -> None:
    person.run(*START)
    assert person.run("server", "stop").status == 0
    assert person.processes() != []
    assert person.run("server", "stop", "--now", "--json").json["stopped_sessions"] == 1
    assert person.processes() == []


@pytest.mark.contract("S9")
def test_a_wait_that_ends_with_the_server_says_so(person: Person) -> None:
    asking = person.begin(*person.ask(BUILT_IN_SLEEP))
    eventually(person.sleeping)
    assert person.run("server", "stop").status == 0
    done = person.finish(asking)
    assert (done.status, "the server was stopped" in done.err) == (1, True), done.err
    eventually(lambda: person.processes() == [])
