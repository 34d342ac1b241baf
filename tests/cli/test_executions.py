"""`mcp-agent executions`: what people read, what programs read, exit codes, and what a wait outlives."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import BUILT_IN_SLEEP, assert_one_line, eventually

if TYPE_CHECKING:
    from tests.cli.conftest import Person

EXECUTION_KEYS = {
    *("execution_id", "agent", "provider", "model", "task", "instructions", "working_directory"),
    *("state", "detail", "needs_person", "call_id"),
    *("parent_session", "parent_execution", "depth", "session_id", "message_id", "turn_id", "created_at"),
    *("started_at", "ended_at", "deadline_at", "idempotency_key", "final_text", "usage", "ended_by", "owner"),
    *("reason", "cause", "delivery"),
}
CONFIGURATION = """
[agents.helper]
provider = "scripted"
instructions = "You help."

[agents.worker]
provider = "scripted"
tools = ["execute_shell_command"]
deadline = "30m"
"""
START = ("executions", "start", "--trust")
HELPER = (*START, "--agent", "helper")
WORKER = (*START, "--agent", "worker")


@pytest.fixture
def configured(person: Person) -> Person:
    """Somebody who has configured two agents."""
    path = person.root / "user/.config/mcp-agent/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(CONFIGURATION)
    return person


def started(person: Person, *arguments: str) -> str:
    done = person.run(*arguments)
    assert done.status == 0, done.err
    assert re.fullmatch(r"x-[0-9a-f]+\n", done.out)
    return done.out.strip()


def execution(person: Person, execution_id: str) -> dict[str, Any]:
    found: dict[str, Any] = person.run("executions", "show", execution_id, "--json").json
    return found


def sleeping(person: Person) -> str:
    """An execution whose command runs."""
    execution_id = started(person, *WORKER, BUILT_IN_SLEEP)
    eventually(person.sleeping)
    return execution_id


def thinking(person: Person) -> tuple[str, ...]:
    """A start whose agent has its prompt, and answers once `answer` was touched."""
    quirks = json.dumps({"thinks_until": str(person.root / "answer")})
    return (*HELPER, "--env", f"SCRIPTED_AGENT_QUIRKS={quirks}", "think")


@pytest.mark.contract("E1", "E2")
def test_an_agent_does_a_task_and_its_answer_is_waited_for_shown_and_listed(configured: Person) -> None:
    assert configured.run("executions", "list").out == "no executions\n"
    task = configured.root / "task"
    task.write_text("hello\nthere")
    execution_id = started(configured, *HELPER, "--file", str(task))

    waited = configured.run("executions", "wait", execution_id)
    assert (waited.status, waited.out, waited.err) == (0, "ECHO: You help.\n\nhello\nthere\n", "")
    found = execution(configured, execution_id)
    assert set(found) == EXECUTION_KEYS
    assert (found["state"], found["agent"], found["ended_by"]) == ("succeeded", "helper", "result")
    assert configured.run("executions", "wait", execution_id, "--json").json == found

    shown = configured.run("executions", "show", execution_id).out.splitlines()
    assert shown[0] == f"{execution_id}  helper (scripted)  succeeded"
    assert "task:      hello there" in shown
    assert f"session:   {found['session_id']}" in shown
    assert any(re.fullmatch(r"asked for: .+ by a person", line) for line in shown)
    assert any(re.fullmatch(r"ended:     .+ after \d+s by result", line) for line in shown)
    assert shown[-3:] == ["ECHO: You help.", "", "hello", "there"][-3:]
    (row,) = [line for line in configured.run("executions", "list").out.splitlines() if execution_id in line]
    assert row.split()[1:3] == ["helper", "succeeded"]
    assert row.endswith("hello there")
    assert "You help." not in row

    assert configured.run("executions", "list", "--json").json == {"executions": [found], "trouble": None}
    for none_of_them in (("--unfinished",), ("--state", "failed")):
        assert configured.run("executions", "list", "--json", *none_of_them).json["executions"] == []
    assert configured.run("executions", "list", "--state", "succeeded", "--limit", "1", "--json").json["executions"]


def test_its_session_says_whose_it_is(configured: Person) -> None:
    parent = configured.run("session", "start", "--provider", "scripted", "--trust", "--name", "parent").out.strip()
    done = configured.run(*HELPER, "--parent", "parent", "--wait", "--json", "hello")
    execution_id, child = done.json["execution_id"], done.json["session_id"]
    assert done.err == f"mcp-agent: execution {execution_id}\n"
    assert done.json["parent_session"] == parent

    (session,) = [one for one in configured.sessions() if one["id"] == child]
    assert (session["execution"], session["parent_session"]) == (execution_id, parent)
    shown = configured.run("session", "show", child).out
    assert f"execution: {execution_id}, started by session {parent}\n" in shown
    assert execution_id in configured.run("session", "list").out
    assert "execution:" not in configured.run("session", "show", parent).out

    eventually(lambda: execution_id in configured.run("session", "history", "parent").out)
    assert "its parent is told" in configured.run("executions", "show", execution_id).out
    assert [one["execution_id"] for one in _listed(configured, "--parent", "parent")] == [execution_id]


def _listed(person: Person, *options: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.run("executions", "list", "--json", *options).json["executions"]
    return found


@pytest.mark.contract("E2", "E3", "E4")
def test_a_wait_that_ends_first_decides_nothing_and_a_cancel_leaves_no_process(configured: Person) -> None:
    execution_id = sleeping(configured)
    waited = configured.run("executions", "wait", execution_id, "--timeout", "1s")
    assert_one_line(waited, 124, "stopped waiting after 1s", "goes on (running: its session s-", execution_id)
    looked = configured.run("executions", "wait", execution_id, "--timeout", "0s", "--json")
    assert (looked.status, looked.json["state"], looked.json["ended_by"]) == (124, "running", None)

    logs = configured.run("executions", "logs", execution_id)
    session = looked.json["session_id"]
    for words in (f"session:   {session}", f"› {BUILT_IN_SLEEP}", "execute_shell_command", "Scripted agent"):
        assert words in logs.out
    told = configured.run("executions", "logs", execution_id, "--json").json
    assert set(told) == {"execution", "session", "screen", "turns", "calls"}
    (row,) = [line for line in configured.run("executions", "list").out.splitlines() if execution_id in line]
    assert re.search(rf"running +its session {session} works +\d+s +29m\d+s", row)

    assert configured.run("executions", "cancel", execution_id).out == "cancelled\n"
    assert not configured.sleeping()
    assert configured.run("executions", "cancel", execution_id).out == "had ended already: cancelled\n"
    again = configured.run("executions", "cancel", execution_id, "--json").json
    assert (again["cancelled"], again["children"], again["state"]) == (False, 0, "cancelled")
    over = configured.run("executions", "wait", execution_id)
    assert_one_line(over, 1, f"execution {execution_id}: cancelled: it was cancelled by its owner")


@pytest.mark.contract("E4", "T10")
def test_a_deadline_is_told_with_its_layer_and_its_owner(configured: Person) -> None:
    done = configured.run(*thinking(configured), "--deadline", "2s", "--wait", "--json")
    found = done.json
    assert (done.status, found["state"], found["ended_by"]) == (1, "deadline_exceeded", "turn_deadline")
    assert f"execution {found['execution_id']}: deadline_exceeded: TIMEOUT: layer=turn_deadline" in done.err
    assert "owner=caller" in done.err


@pytest.mark.contract("E5")
def test_a_key_starts_a_task_once_and_no_other(configured: Person) -> None:
    keyed = (*HELPER, "--deadline", "1h", "--idempotency-key", "nightly")
    first = started(configured, *keyed, "hello")
    assert started(configured, *keyed, "hello") == first
    refused = configured.run(*keyed, "something else")
    assert_one_line(refused, 2, "idempotency key 'nightly' belongs to execution", first, "nothing was started")


@pytest.mark.contract("E1", "S9")
def test_a_wait_outlives_the_death_and_the_restart_of_the_server(configured: Person) -> None:
    waiter = configured.begin(*thinking(configured), "--wait")
    assert waiter.stderr is not None
    execution_id = waiter.stderr.readline().split()[-1]
    eventually(lambda: execution(configured, execution_id)["detail"].endswith("works"))
    pid = int(configured.run("server", "status", "--json").json["pid"])
    descriptor = os.pidfd_open(pid)
    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    os.close(descriptor)
    eventually(lambda: configured.run("server", "status", "--json").json.get("pid", pid) != pid)

    assert configured.run("server", "stop").status == 0
    assert waiter.stderr.readline() == "the server is away; waiting for the next one\n"
    assert configured.run("server", "status").status == 1
    assert execution(configured, execution_id)["state"] == "running"
    (configured.root / "answer").touch()
    done = configured.finish(waiter)
    assert (done.status, done.out) == (0, "ECHO: You help.\n\nthink\n")


def test_a_wait_that_a_person_leaves_says_that_it_goes_on(configured: Person) -> None:
    waiter = configured.begin(*thinking(configured), "--wait")
    assert waiter.stderr is not None
    execution_id = waiter.stderr.readline().split()[-1]
    waiter.send_signal(signal.SIGINT)
    done = configured.finish(waiter)
    assert_one_line(done, 130, f"execution {execution_id} goes on", f"`mcp-agent executions wait {execution_id}`")
    assert execution(configured, execution_id)["ended_at"] is None


def test_a_wait_tells_once_that_the_session_needs_somebody(configured: Person) -> None:
    waiter = configured.begin(*START, "--provider", "scripted", "--wait", BUILT_IN_SLEEP)
    assert waiter.stderr is not None
    execution_id = waiter.stderr.readline().split()[-1]
    told = waiter.stderr.readline()
    session = execution(configured, execution_id)["session_id"]
    assert told == (
        f"mcp-agent: execution {execution_id} waits: its session {session} is waiting (permission);"
        f" `mcp-agent session attach {session}` leads to it\n"
    )
    assert configured.run("server", "stop", "--now").out == "stopped; 1 execution was cancelled\n"
    done = configured.finish(waiter)
    assert done.status == 1
    assert "waits:" not in done.err


@pytest.mark.contract("C5")
def test_a_stop_says_how_many_executions_go_on_and_with_cascade_cancels_them(configured: Person) -> None:
    for name in ("one", "two"):
        configured.run("session", "start", "--provider", "scripted", "--trust", "--name", name)
        started(configured, *thinking(configured), "--parent", name)
    left = configured.run("session", "stop", "one")
    assert left.out == "stopped; 0 tool calls were cancelled; 1 execution goes on (see `mcp-agent executions list`)\n"
    assert len(_listed(configured, "--unfinished")) == 2

    ended = configured.run("session", "stop", "two", "--cascade", "--json").json
    assert (ended["executions"], ended["executions_cancelled"]) == (1, True)
    (other,) = _listed(configured, "--unfinished")
    everything = configured.run("session", "stop", "--all", "--cascade")
    assert "1 execution was cancelled" in everything.out
    assert execution(configured, other["execution_id"])["state"] == "cancelled"
    assert configured.processes() == []


def test_the_configured_agents_are_listed(configured: Person) -> None:
    listed = configured.run("executions", "agents").out.splitlines()
    assert listed[2].split() == ["helper", "scripted", "-", "all", "its", "caller's", "-"]
    assert listed[3].split() == ["worker", "scripted", "-", "execute_shell_command", "its", "caller's", "30m"]
    names = [agent["name"] for agent in configured.run("executions", "agents", "--json").json["agents"]]
    assert names == ["helper", "worker"]


def test_a_narrow_terminal_cuts_no_id_and_no_state(configured: Person) -> None:
    execution_id = started(configured, *START, "--provider", "scripted", BUILT_IN_SLEEP)
    eventually(lambda: "waiting (permission" in str(execution(configured, execution_id)["detail"]))
    for columns in (50, 80):
        shown = configured.printed("executions", "list", columns=columns)
        assert re.search(rf"{execution_id} .*running", shown)
        assert ("waiting" in shown) == (columns > 60)


def test_what_a_server_refuses_is_one_line_and_leaves_no_execution(configured: Person) -> None:
    refusals = {
        ("--agent", "nobody"): "no agent 'nobody' is configured; configured: helper, worker",
        ("--agent", "helper", "--deadline-at", "2020-01-01T00:00Z"): "the deadline is in the past; nothing was started",
        ("--agent", "helper", "--parent", "nobody"): "no session nobody",
        ("--provider", "scripted", "--tool", "nothing"): "no tool nothing",
        ("--agent", "helper", "--idempotency-key", ""): "idempotency_key",
    }
    for options, words in refusals.items():
        assert_one_line(configured.run(*START, *options, "hello"), 2, words)
    assert _listed(configured) == []
    assert_one_line(configured.run("executions", "list", "--parent", "nobody"), 2, "no session nobody")
    both = configured.run("executions", "list", "--unfinished", "--state", "failed")
    assert_one_line(both, 2, "choose one of --unfinished and --state")
    for command in ("show", "wait", "cancel", "logs"):
        assert_one_line(configured.run("executions", command, "x-0"), 2, "no execution x-0", "executions list")
