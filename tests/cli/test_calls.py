"""`mcp-agent calls` and `mcp-agent tools`: what people read, what programs read, and what cannot be asked for."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import assert_one_line, eventually

if TYPE_CHECKING:
    from tests.cli.conftest import Person

CALL_KEYS = {
    *("call_id", "session_id", "tool", "turn_id", "arguments", "started_at", "ended_at", "age_seconds"),
    *("last_progress_at", "next_limit", "why_ended", "happened", "unknown", "late", "detail", "evidence"),
    *("resolution", "gated_by", "duplicate_of", "contradictions"),
}
SHOWN_KEYS = CALL_KEYS | {"output", "output_directory"}
SHELL = ("tools", "call", "execute_shell_command")


def shell(person: Person, command: str, *more: str) -> Any:
    return person.run(*SHELL, json.dumps({"command": command}), "--json", *more).json


@pytest.mark.parametrize(
    ("command", "status"), [("true", 0), ("exit 3", 1), ("kill -KILL $$", 1), ("cd /nowhere-at-all", 1)]
)
def test_a_call_by_hand_ends_as_its_tool_did(person: Person, command: str, status: int) -> None:
    assert person.run(*SHELL, json.dumps({"command": command})).status == status


def calls(person: Person, *more: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.run("calls", "list", "--json", *more).json["calls"]
    return found


def running_call(person: Person) -> str:
    eventually(lambda: any(line.endswith("sleep 600") for line in person.processes()))
    return str(calls(person)[-1]["call_id"])


def unknown_call(person: Person) -> str:
    """A call of unknown outcome: its server and its supervisor were killed."""
    command = person.begin(*SHELL, '{"command": "sleep 600"}')
    call_id = running_call(person)
    pid = person.run("server", "status", "--json").json["pid"]
    for killed in (pid, *(int(line.split()[0]) for line in person.processes() if "supervisor" in line)):
        signal.pidfd_send_signal(os.pidfd_open(killed), signal.SIGKILL)
    assert person.finish(command).status == 1
    eventually(lambda: not any(line.endswith("sleep 600") for line in person.processes()))
    return call_id


def test_tools_are_listed_for_people_and_for_programs(person: Person) -> None:
    listed = person.run("tools", "list")
    assert (listed.status, listed.err) == (0, "")
    assert "execute_shell_command  (virtual)  Run a shell command" in listed.out
    answer = person.run("tools", "list", "--json").json
    assert set(answer) == {"tools", "problems"}
    assert {"name", "description", "inputSchema", "category", "long_running"} <= set(answer["tools"][0])


def test_a_tool_that_could_not_be_loaded_is_told(person: Person) -> None:
    config = person.root / "user/.config/mcp-agent/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[tools]\nmodules = ["no_such_module_of_mine"]\n')
    assert "problem: " in person.run("tools", "list").err
    assert "no_such_module_of_mine" in person.run("tools", "list").err


@pytest.mark.contract("W10")
def test_a_tool_is_called_by_hand_and_its_call_is_listed_and_shown(person: Person) -> None:
    done = person.run(*SHELL, '{"command": "pwd; exit 3"}')
    assert json.loads(done.out)["stdout"] == f"{person.work}\n"
    answer = shell(person, "pwd", "--directory", "/")
    assert set(answer) == {"call_id", "text", "structured"}
    assert answer["structured"]["stdout"] == "/\n"

    first, second = calls(person)
    assert set(second) == CALL_KEYS
    assert (first["happened"], second["happened"], second["session_id"]) == ("failed", "succeeded", "owner")
    assert calls(person, "--unknown") == calls(person, "--session", "s-0") == []
    table = person.run("calls", "list").out
    assert second["call_id"] in table
    assert "failed" in table

    shown = person.run("calls", "show", second["call_id"])
    assert "outcome:   succeeded" in shown.out
    assert set(person.run("calls", "show", second["call_id"], "--json").json) == SHOWN_KEYS


@pytest.mark.contract("W1")
def test_a_running_call_is_shown_with_the_limit_that_fires_next_and_can_be_cancelled(person: Person) -> None:
    command = person.begin(*SHELL, '{"command": "sleep 600"}')
    call_id = running_call(person)
    (row,) = [line for line in person.run("calls", "list").out.splitlines() if call_id in line]
    assert re.search(r"running .* -  +the wait ends in 14m5\ds \(tool_wait\)", row)
    shown = person.run("calls", "show", call_id).out
    assert "wait:      goes on\n" in shown
    assert re.search(r"limit:     the wait ends in 14m5\ds \(tool_wait\)", shown)
    waited = person.run("calls", "wait", call_id, "--timeout", "0s", "--json")
    assert (waited.status, waited.json["happened"]) == (1, None)
    assert person.run("calls", "cancel", call_id).out == "cancelled\n"
    assert person.finish(command).out.startswith("CANCELED: layer=cancel owner=owner")
    assert person.run("calls", "cancel", call_id).out == "not running; outcome: cancelled\n"
    assert person.run("calls", "wait", call_id).status == 0


@pytest.mark.contract("C1")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_a_call_by_hand(person: Person, number: signal.Signals) -> None:
    command = person.begin(*SHELL, '{"command": "sleep 600"}')
    call_id = running_call(person)
    command.send_signal(number)
    assert person.finish(command).status == 128 + number
    done = person.run("calls", "wait", call_id, "--json").json
    assert (done["why_ended"], done["happened"]) == ("cancel", "cancelled")
    assert person.processes() == []


@pytest.mark.contract("W6", "W8")
def test_an_unknown_call_is_listed_gates_its_repetition_and_is_resolved(person: Person) -> None:
    call_id = unknown_call(person)
    assert [call["call_id"] for call in calls(person, "--unknown")] == [call_id]
    assert person.run("calls", "wait", call_id, "--timeout", "10m").status == 1
    assert "This call was NOT run" in shell(person, "sleep 600")["text"]
    note = ("--did-not-happen", "--note", "nobody slept")
    assert "did not happen, says the owner" in person.run("calls", "resolve", call_id, *note).out
    assert calls(person, "--unknown") == []
    assert person.run("calls", "wait", call_id).status == 0
    command = person.begin(*SHELL, '{"command": "sleep 600"}')
    again = running_call(person)
    assert again != call_id
    person.run("calls", "cancel", again)
    person.finish(command)


def test_a_narrow_terminal_cuts_no_call_id_and_no_state(person: Person) -> None:
    assert person.run("calls", "list").out == "no calls\n"
    call_id = shell(person, "true")["call_id"]
    for columns in (60, 80):
        shown = person.printed("calls", "list", columns=columns)
        assert re.search(rf"{call_id} +succeeded", shown)
        assert "…" not in shown


@pytest.mark.contract("W8")
def test_nothing_is_decided_about_a_call_of_which_the_outcome_was_observed(person: Person) -> None:
    call_id = shell(person, "exit 3")["call_id"]
    refused = person.run("calls", "resolve", call_id, "--happened")
    assert_one_line(refused, 2, call_id, "was observed: it failed", "nothing was changed")
    assert person.run("calls", "show", call_id, "--json").json["resolution"] is None


def test_old_calls_are_forgotten(person: Person) -> None:
    shell(person, "true")
    assert_one_line(person.run("calls", "prune", "--days", "0"), 2, "use 1 or more", "--all")
    assert_one_line(person.run("calls", "prune", "--days", "1", "--all"), 2, "--all")
    assert person.run("calls", "prune").out == "0 calls forgotten\n"
    assert person.run("calls", "prune", "--all", "--json").json == {"forgotten": 1}
    assert calls(person) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{", ("the arguments are no JSON",)),
        ("[]", ("must be a JSON object",)),
        ("null", ("must be a JSON object",)),
        ('{"command": NaN}', ("no JSON",)),
        ("{}", ("arguments of execute_shell_command", "command")),
        ('{"command": "true", "timeout_seconds": -1}', ("timeout_seconds",)),
    ],
)
def test_arguments_that_will_not_do_are_refused(person: Person, arguments: str, words: tuple[str, ...]) -> None:
    assert_one_line(person.run(*SHELL, arguments), 2, *words)
    if person.home.exists():
        assert calls(person) == []


def test_an_unknown_tool_is_told_with_the_known_ones(person: Person) -> None:
    assert_one_line(
        person.run("tools", "call", "nothing"), 2, "unknown tool 'nothing'; this server has", "execute_shell_command"
    )


@pytest.mark.parametrize("command", [("show",), ("wait",), ("cancel",), ("resolve", "--happened")])
@pytest.mark.parametrize("call_id", ["call_0", "", "..", "a/b?c#d", "💥"])
def test_an_unknown_call_is_told_with_where_to_look(person: Person, command: tuple[str, ...], call_id: str) -> None:
    assert_one_line(person.run("calls", command[0], call_id, *command[1:]), 2, "no call", "mcp-agent calls list")


@pytest.mark.parametrize("more", [(), ("--happened", "--did-not-happen")])
def test_a_decision_says_one_thing(person: Person, more: tuple[str, ...]) -> None:
    assert_one_line(person.run("calls", "resolve", "call_0", *more), 2, "say one of")


@pytest.mark.parametrize("timeout", ["", "5", "-1s", "200h", "inf", "soon"])
def test_a_wait_that_is_no_bounded_time_is_a_usage_error(person: Person, timeout: str) -> None:
    assert person.run("calls", "wait", "call_0", "--timeout", timeout).status == 2
