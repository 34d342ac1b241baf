"""How a session is started: what it is called, what it sees, how large it is."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Done, Person

START = ("session", "start", "--provider", "scripted", "--trust")


def assert_one_line(done: Done, status: int, *words: str) -> None:
    assert (done.status, done.out, done.err.count("\n")) == (status, "", 1), done
    assert all(word in done.err for word in words), done.err


def environment_of(session: dict[str, dict[str, int]]) -> dict[str, str]:
    """What the CLI itself sees."""
    return psutil.Process(session["pane"]["pid"]).environ()


def test_every_command_takes_a_name_for_the_id(person: Person) -> None:
    session = person.run(*START, "--name", "rel.1:a_b-C").out.strip()
    for command in (("screen",), ("send", "hello"), ("interrupt",)):
        assert person.run("session", command[0], "rel.1:a_b-C", *command[1:]).status == 0
    assert person.run("session", "show", "rel.1:a_b-C", "--json").json["id"] == session
    assert "rel.1:a_b-C" in person.run("session", "list").out


def test_a_name_is_held_until_its_session_is_stopped_and_means_the_last_one_then(person: Person) -> None:
    first = person.run(*START, "--name", "work").out.strip()
    assert_one_line(person.run(*START, "--name", "work"), 1, f"session {first} is called work already")
    assert len(person.sessions()) == 1

    person.run("session", "stop", "work")
    assert person.run("session", "show", "work", "--json").json["id"] == first
    second = person.run(*START, "--name", "work").out.strip()
    person.run("session", "stop", "work")
    person.run("server", "stop")
    assert person.run("session", "show", "work", "--json").json["id"] == second != first


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--name", ""), "session name '' is empty"),
        (("--name", "x" * 300), "has 300 characters; 64 are allowed"),
        (("--name", "\udcff"), "may have ASCII letters"),
        (("--env", "NOT_SET"), "variable 'NOT_SET' is not set here"),
        (("--env", "A=\udcff"), "variable 'A' has a value that is not valid UTF-8"),
        (("--permission-mode", "yolo"), "Scripted agent has no permission mode 'yolo'; it has: allow-all"),
    ],
)
def test_what_no_session_can_have_is_refused_before_anything_is_started(
    person: Person, options: tuple[str, ...], problem: str
) -> None:
    assert_one_line(person.run(*START, *options), 2, problem)
    assert not person.home.exists()


@pytest.mark.parametrize("options", [("--columns", "39"), ("--rows", "1001")])
def test_a_size_that_no_cli_could_use_is_a_usage_error(person: Person, options: tuple[str, ...]) -> None:
    assert person.run(*START, *options).status == 2
    assert not person.home.exists()


@pytest.mark.contract("A3")
def test_a_session_sees_the_usual_variables_and_those_that_were_named_for_it(person: Person) -> None:
    person.environment |= {"TOKEN": "alpha", "SECRET": "kept"}
    named = ("--env", "TOKEN", "--env", "MODE=a=b; $HOME \n'x'", "--env", "EMPTY=")
    seen = environment_of(person.run(*START, *named, "--json").json)

    assert (seen["TOKEN"], seen["MODE"], seen["EMPTY"]) == ("alpha", "a=b; $HOME \n'x'", "")
    assert "SECRET" not in seen


@pytest.mark.contract("A3")
def test_a_variable_that_was_named_for_a_session_is_seen_by_its_shell_commands(person: Person) -> None:
    asked = person.ask("run exactly this command: `echo token=$TOKEN`")
    assert "token=alpha" in person.run(*asked, "--env", "TOKEN=alpha").out


@pytest.mark.contract("A2")
def test_the_value_of_a_named_variable_stands_in_no_command_line_log_or_answer(person: Person) -> None:
    person.environment["TOKEN"] = "sesame-1234567890"
    done = person.run(*START, "--name", "work", "--env", "TOKEN", "--json")
    shown = person.run("session", "show", "work", "--json")
    lines = "\n".join(" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline"]))

    for text in (done.out, done.err, shown.out, lines, (person.home / "server.log").read_text()):
        assert "sesame" not in text
    person.run("session", "stop", "work")
    left = subprocess.run(["grep", "-rl", "sesame", str(person.home)], capture_output=True, text=True, check=False)
    assert left.stdout == ""


@pytest.mark.contract("S2")
def test_a_pane_has_the_size_that_was_asked_for(person: Person) -> None:
    long = ("--env", "LONG=" + "x" * 65_536)
    person.run(*START, "--name", "wide", "--columns", "200", "--rows", "50", *long)
    screen = person.run("session", "screen", "wide").out

    assert len(screen.splitlines()) == 50
    assert max(map(len, screen.splitlines())) == 200
