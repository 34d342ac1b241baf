"""What `session list` and `session screen` say, and what every session command says of one that is not there."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BUILT_IN_SLEEP, eventually

if TYPE_CHECKING:
    from tests.cli.conftest import Person

START = ("session", "start", "--provider", "scripted", "--trust")
ON_ONE_SESSION = (("show",), ("screen",), ("send", "hello"), ("interrupt",), ("stop",), ("attach",))


def test_a_list_hides_what_was_stopped_and_says_how_to_see_it(person: Person) -> None:
    assert person.run("session", "list").out == "no sessions\n"
    person.run(*START, "--name", "one")
    person.run("session", "stop", "one")
    assert person.run("session", "list").out == "no sessions; --all shows the one that was stopped\n"
    assert person.run("session", "list", "--json").json == {"sessions": []}
    (row,) = [line for line in person.run("session", "list", "--all").out.splitlines() if "stopped" in line]
    assert row.split()[1:4] == ["one", "scripted", "stopped"]

    person.run("server", "stop")
    assert [one["name"] for one in person.sessions()] == ["one"]
    assert person.run("server", "status").status == 1


def test_a_list_tells_the_running_turn_or_how_long_there_was_none(person: Person) -> None:
    person.run(*START, "--name", "work", "--allow-tool", "execute_shell_command")
    assert person.sessions()[0]["idle_seconds"] >= 0
    turn = person.run("session", "send", "work", BUILT_IN_SLEEP, "--json").json["turn_id"]

    (busy,) = person.sessions()
    assert (busy["current_turn"], busy["idle_seconds"]) == (turn, None)
    (row,) = [line for line in person.run("session", "list").out.splitlines() if "work" in line]
    assert turn in row
    person.run("session", "interrupt", "work")
    eventually(lambda: person.sessions()[0]["idle_seconds"] is not None)


def test_a_narrow_terminal_leaves_columns_out_and_cuts_no_name_and_no_state(person: Person) -> None:
    name = "a-name-of-thirty-two-characters-"
    session = person.run(*START, "--name", name).out.strip()
    for columns in (60, 80):
        shown = person.printed("session", "list", columns=columns)
        assert re.search(rf"{session} +{name} +ready", shown)
        assert "…" not in shown
        assert "directory" not in shown


@pytest.mark.contract("S9")
def test_a_session_is_idle_since_its_latest_launch_and_not_while_somebody_is_attached(person: Person) -> None:
    session = person.run(*START, "--name", "work").out.strip()
    person.run("session", "stop", "work")
    record = person.home / "sessions" / session / "session.json"
    old = json.loads(record.read_text()) | {"created_at": 0.0}
    person.run("server", "stop")
    record.write_text(json.dumps(old))
    person.run("session", "resume", "work")
    assert person.sessions()[0]["idle_seconds"] < 3600

    attached = person.at_terminal("session", "attach", "work")
    eventually(lambda: person.sessions()[0]["idle_seconds"] is None)
    (row,) = [line for line in person.run("session", "list").out.splitlines() if "work" in line]
    assert row.split()[5] == "-", row
    attached.close(force=True)
    eventually(lambda: person.sessions()[0]["idle_seconds"] is not None)


def test_the_screen_is_printed_as_it_is_and_stays_readable_when_the_session_is_over(person: Person) -> None:
    session = person.run(*START).out.strip()
    person.run("session", "send", session, "hello")
    eventually(lambda: "ECHO: hello" in person.run("session", "screen", session).out)

    told = person.run("session", "screen", session, "--json").json
    assert set(told) == {"id", "state", "title", "lines"}
    assert (told["id"], told["state"], len(told["lines"])) == (session, "ready", 36)
    person.run("session", "stop", session)
    assert "ECHO: hello" in person.run("session", "screen", session).out


def test_a_session_that_is_not_there_is_told_in_one_line_by_every_command(person: Person) -> None:
    for command in ON_ONE_SESSION[:-1]:
        done = person.run("session", command[0], "nobody", *command[1:])
        assert (done.status, done.out) == (2, "")
        assert done.err == "mcp-agent: no session nobody; see `mcp-agent session list`\n"


def test_a_session_that_was_stopped_is_still_shown_and_takes_nothing(person: Person) -> None:
    session = person.run(*START, "--name", "work").out.strip()
    person.run("session", "stop", "work")
    person.run("server", "stop")
    outcomes = {command[0]: person.run("session", command[0], "work", *command[1:]) for command in ON_ONE_SESSION}
    assert {name: done.status for name, done in outcomes.items()} == {
        **dict.fromkeys(("show", "screen", "stop"), 0),
        **dict.fromkeys(("send", "interrupt"), 1),
        "attach": 4,
    }
    assert all(f"session {session} is over" in outcomes[name].err for name in ("send", "interrupt"))
    assert all(outcomes[name].err.count("\n") == 1 for name in ("send", "interrupt", "attach"))
