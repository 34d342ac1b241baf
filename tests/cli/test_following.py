"""`session events` and `session history`: what people and programs read of a session, as it happens and afterwards."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from mcp_agent.cli.session.events import _line
from mcp_agent.server.client import Client
from mcp_agent.state import StateDirectory
from tests.cli.conftest import eventually

if TYPE_CHECKING:
    from subprocess import Popen

    from tests.cli.conftest import Person

ESCAPE = "\x1b]0;owned\x07 and \x9b31m"


@pytest.fixture
def session(person: Person) -> str:
    """A ready session of the scripted agent, after one turn."""
    started = person.run("session", "start", "-p", "scripted", "--trust")
    assert started.status == 0, started.err
    session = started.out.strip()
    assert person.run("session", "history", session).out == "no turn has begun yet\n"
    assert person.run("session", "send", session, "hello there").status == 0
    eventually(lambda: history(person, session)[0]["outcome"] == "completed")
    return session


def history(person: Person, session: str) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = person.run("session", "history", session, "--json").json["turns"]
    return turns


def next_kind(process: Popen[str], kind: str) -> dict[str, Any]:
    assert process.stdout is not None
    for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["kind"] == kind:
            return event
    raise AssertionError(f"it ended without {kind}")


@pytest.mark.contract("S3")
def test_history_shows_every_turn_with_its_prompt_times_outcome_and_answer(person: Person, session: str) -> None:
    [turn] = history(person, session)
    assert (turn["prompt"], turn["final_text"], turn["submission"]) == ("hello there", "ECHO: hello there", "delivered")

    shown = person.run("session", "history", session).out.splitlines()
    assert shown[0].startswith(f"{turn['id']}  20")
    assert "completed after " in shown[0]
    assert shown[1:] == ["  › hello there", "  ECHO: hello there", ""]


def test_events_are_one_line_each_for_people_and_one_object_for_programs(person: Person, session: str) -> None:
    shown = person.run("session", "events", session).out.splitlines()
    told = person.run("session", "events", session, "--json").json
    assert len(shown) == len(told["events"])
    assert told["gap"] is False
    assert any("turn.started" in line and 'prompt="hello there"' in line for line in shown)

    later = person.run("session", "events", session, "--json", "--after", str(told["next"])).json
    assert (later["events"], later["next"]) == ([], told["next"])


def test_nothing_of_a_prompt_acts_on_the_terminal_of_its_reader(person: Person, session: str) -> None:
    """No send of ours lets such a prompt through; a CLI may tell of one that was typed into it."""
    spool = person.home / "sessions" / session / "events"
    (spool / "0-1.json").write_text(json.dumps({"event": "prompt_accepted", "text": ESCAPE, "turn": 2}))
    eventually(lambda: len(history(person, session)) == 2)

    for command in ("history", "events"):
        out = person.run("session", command, session).out
        assert "owned" in out
        assert not any(char in out for char in "\x1b\x07\x9b")


@pytest.mark.contract("S7", "S9")
def test_a_follower_outlives_the_death_of_the_server_and_ends_with_the_session(person: Person, session: str) -> None:
    follower = person.begin("session", "events", session, "--follow", "--json")
    assert next_kind(follower, "turn.ended")["facts"]["outcome"] == "completed"
    with Client.connect(StateDirectory(person.home), start=False) as client:
        pid = int(str(client.get("/server")["pid"]))
    descriptor = os.pidfd_open(pid)
    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    os.close(descriptor)

    assert person.run("session", "send", session, "once more").status == 0
    assert next_kind(follower, "session.adopted")["facts"]["state"] == "ready"
    assert next_kind(follower, "turn.started")["facts"]["prompt"] == "once more"
    assert person.run("session", "stop", session).status == 0
    next_kind(follower, "session.closed")
    done = person.finish(follower)
    assert (done.status, done.err) == (0, "the server is away; waiting for the next one\n")


def test_a_follower_starts_no_server_that_somebody_stopped(person: Person, session: str) -> None:
    follower = person.begin("session", "events", session, "--follow")
    assert follower.stdout is not None
    follower.stdout.readline()
    assert person.run("server", "stop").status == 0
    assert follower.stderr is not None
    assert follower.stderr.readline() == "the server is away; waiting for the next one\n"
    assert person.run("server", "status").status != 0
    follower.send_signal(signal.SIGINT)

    assert person.finish(follower).status == 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_follower_that_is_interrupted_is_done(
    person: Person, session: str, number: signal.Signals, status: int
) -> None:
    follower = person.begin("session", "events", session, "--follow")
    assert follower.stdout is not None
    follower.stdout.readline()
    follower.send_signal(number)

    assert person.finish(follower).status == status


def test_an_unknown_session_is_one_line_and_exit_2(person: Person) -> None:
    for command in ("events", "history"):
        done = person.run("session", command, "s-0123456789")
        assert (done.status, done.out) == (2, "")
        assert done.err.splitlines() == ["mcp-agent: no session s-0123456789; see `mcp-agent session list`"]


@pytest.mark.parametrize("cursor", ["-1", "x", "99999999999999999999"])
def test_a_cursor_that_is_none_is_exit_2_before_any_server_is_started(person: Person, cursor: str) -> None:
    done = person.run("session", "events", "s-0123456789", "--after", cursor)

    assert (done.status, done.out) == (2, "")
    assert not person.home.exists()


def test_events_tell_when_with_date_and_zone_and_no_needless_digits() -> None:
    facts = {"at": 1.5, "elapsed_seconds": 3.0000004, "cancelled_calls": 0}
    line = _line({"seq": 1, "at": 0.25, "kind": "session.closed", "facts": facts})
    times = re.findall(r"19[67]\d-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", line)
    assert len(times) == 2
    assert line.endswith(f"at={times[1]} elapsed_seconds=3 cancelled_calls=0")
