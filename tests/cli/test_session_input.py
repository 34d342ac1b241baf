"""What a person types to give a session something, and what they read."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BUILT_IN_SLEEP, Done, eventually

if TYPE_CHECKING:
    from tests.cli.conftest import Person


@pytest.fixture
def session(person: Person) -> str:
    start = ("session", "start", "--provider", "scripted", "--trust", "--allow-tool", "execute_shell_command")
    return person.run(*start).out.strip()


def one_line(done: Done, status: int) -> str:
    """The only line of an error with this exit code."""
    assert (done.status, done.err.count("\n")) == (status, 1), done
    return done.err


@pytest.mark.contract("I5", "I4")
def test_messages_are_queued_listed_withdrawn_and_steered(person: Person, session: str) -> None:
    person.run("session", "send", session, BUILT_IN_SLEEP)
    waiting = person.run("session", "send", session, "--queue", "later")
    state, message = waiting.out.split()
    assert (waiting.status, state) == (0, "waiting")
    assert person.run("session", "send", session, "--steer", "left").out.startswith("queued t-")

    plain = person.run("session", "messages", session).out
    assert [row for row in plain.splitlines() if message in row and "a turn runs" in row and "later" in row]
    assert person.run("session", "withdraw", session, message).out == f"withdrawn {message}\n"
    assert "it was withdrawn before" in one_line(person.run("session", "withdraw", session, message), 1)
    listed = person.run("session", "messages", session, "--json").json["messages"]
    assert [one["state"] for one in listed] == ["delivered", "withdrawn", "queued"]
    assert set(listed[0]) == {
        *("id", "kind", "state", "text", "created_at", "claimed_at", "turn_id", "reason", "waits_for"),
        "deadline_at",
    }


@pytest.mark.contract("T10")
def test_a_session_is_asked_and_stays_whatever_the_deadline_did(person: Person, session: str) -> None:
    assert person.run("session", "ask", session, "hello").out == "ECHO: hello\n"
    late = person.run("session", "ask", session, "--deadline", "1s", BUILT_IN_SLEEP)
    told = one_line(late, 1)
    assert "layer=turn_deadline" in told
    assert "the session shows its prompt again" in told
    again = person.run("session", "ask", session, "-", "--json", stdin=b"once more").json
    assert (again["session_id"], again["turn"]["final_text"]) == (session, "ECHO: once more")


@pytest.mark.contract("T10", "I5")
def test_an_ask_joins_nobodys_turn_and_its_deadline_withdraws_it_and_interrupts_nobody(
    person: Person, session: str
) -> None:
    running = person.run("session", "send", session, BUILT_IN_SLEEP).out.split()[1]
    told = one_line(person.run("session", "ask", session, "--deadline", "1s", "mine"), 1)
    assert "layer=turn_deadline" in told
    assert "(a turn runs) and was withdrawn: it was not run and will not be" in told
    [turn] = person.run("session", "history", session, "--json").json["turns"]
    assert (turn["id"], turn["outcome"], turn["live_inputs"]) == (running, None, [])

    command = person.begin("session", "ask", session, "mine after all")
    eventually(lambda: " waiting " in person.run("session", "messages", session).out)
    person.run("session", "interrupt", session)
    assert person.finish(command).out == "ECHO: mine after all\n"


@pytest.mark.contract("E4", "T10")
def test_the_deadline_of_an_ask_is_kept_though_the_command_was_killed(person: Person, session: str) -> None:
    command = person.begin("session", "ask", session, "--deadline", "4s", BUILT_IN_SLEEP)
    eventually(person.sleeping)
    command.kill()
    command.communicate()
    eventually(lambda: person.run("session", "history", session, "--json").json["turns"][0]["outcome"])
    [turn] = person.run("session", "history", session, "--json").json["turns"]
    assert (turn["outcome"], turn["reason"]) == ("interrupted", "deadline")
    assert not person.sleeping()
    assert person.run("session", "ask", session, "hello").out == "ECHO: hello\n"


def test_who_leaves_an_ask_hears_what_becomes_of_the_prompt(person: Person, session: str) -> None:
    command = person.begin("session", "ask", session, BUILT_IN_SLEEP)
    eventually(person.sleeping)
    second = person.begin("session", "ask", session, "behind it")
    eventually(lambda: " waiting " in person.run("session", "messages", session).out)

    second.send_signal(signal.SIGINT)
    assert "stopped waiting; the prompt waited still and was withdrawn" in one_line(person.finish(second), 130)
    command.send_signal(signal.SIGINT)
    told = one_line(person.finish(command), 130)
    assert told == (f"mcp-agent: stopped waiting; the turn goes on: `mcp-agent session interrupt {session}` ends it\n")
    assert person.sleeping()


@pytest.mark.contract("I3")
def test_a_file_is_sent_as_it_is_and_a_command_is_run(person: Person, session: str) -> None:
    (person.work / "prompt.md").write_bytes("-n; zwei\r\nZeilen ü\n\n".encode())
    assert person.run("session", "ask", session, "--file", "prompt.md").out.startswith("ECHO: -n; zwei")
    assert person.run("session", "command", session, "/compact").out == "executed\n"
    assert "has no command" in one_line(person.run("session", "command", session, "compact"), 2)


@pytest.mark.contract("I2")
def test_what_cannot_be_sent_is_one_line_and_an_exit_code(person: Person, session: str) -> None:
    (person.work / "nul").write_bytes(b"a\0b")
    (person.work / "latin").write_bytes("ü".encode("latin-1"))
    (person.work / "empty").write_bytes(b" \n")
    for status, arguments in (
        (1, ("--file", "nul")),
        (2, ("--file", "latin")),
        (2, ("--file", "empty")),
        (2, ("--file", "missing")),
        (2, ("--file", ".")),
        (2, ()),
        (2, ("a prompt", "--file", "nul")),
        (2, ("--queue", "--steer", "a prompt")),
        (2, ("--queue", "--clear-draft", "a prompt")),
        (1, ("--steer", "no turn runs")),
    ):
        one_line(person.run("session", "send", session, *arguments), status)
    one_line(person.run("session", "withdraw", session, "m-0"), 2)
    one_line(person.run("session", "withdraw", session, "../../../server/stop"), 2)
    assert person.run("session", "messages", session).out == "no messages\n"


@pytest.mark.contract("I5")
def test_a_message_goes_to_an_idle_session_and_to_no_stopped_one(person: Person, session: str) -> None:
    person.run("session", "send", session, "--queue", "hello")
    eventually(lambda: "delivered" in person.run("session", "messages", session).out)
    person.run("session", "stop", session)
    one_line(person.run("session", "send", session, "--queue", "too late"), 1)
    for command in ("send", "ask", "command"):
        one_line(person.run("session", command, session, "/x"), 1)
        one_line(person.run("session", command, "s-0", "/x"), 2)
    one_line(person.run("session", "messages", "s-0"), 2)
    one_line(person.run("session", "withdraw", "s-0", "m-1"), 2)
