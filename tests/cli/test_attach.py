"""`mcp-agent session attach`: the CLI itself in a terminal of the caller's, and nothing changed by it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pexpect
import pytest

from tests.cli.conftest import COMMAND, eventually

if TYPE_CHECKING:
    from tests.cli.conftest import Done, Person

START = ("session", "start", "--provider", "scripted", "--trust", "--name", "work")


def tmux(person: Person, *arguments: str) -> str:
    socket = next(person.home.rglob("tmux.sock"))
    done = subprocess.run(["tmux", "-N", "-S", str(socket), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def size(person: Person) -> str:
    pane = person.run("session", "show", "work", "--json").json["pane"]["pane_id"]
    return tmux(person, "display-message", "-p", "-t", pane, "#{window_width}x#{window_height}")


def prompt(person: Person) -> str:
    """What stands in the composer."""
    lines = person.run("session", "screen", "work").out.splitlines()
    return next(line for line in reversed(lines) if line.startswith(">"))


def attach(person: Person, *options: str, rows: int = 24, columns: int = 100) -> pexpect.spawn[str]:
    return pexpect.spawn(
        COMMAND,
        ["session", "attach", "work", *options],
        env=person.environment,
        cwd=str(person.work),
        dimensions=(rows, columns),
        timeout=30,
        encoding="utf-8",
    )


def sees(terminal: pexpect.spawn[str], *words: str) -> None:
    """Return once all of these were drawn, in whatever order."""
    drawn = ""
    while not all(word in drawn for word in words):
        drawn += terminal.read_nonblocking(4096, timeout=30)


def leave(terminal: pexpect.spawn[str]) -> int:
    """Detach, and the exit status of the command."""
    terminal.send("\x02d")
    terminal.expect(pexpect.EOF)
    return terminal.wait()


def assert_one_line(done: Done, status: int, words: str) -> None:
    assert (done.status, done.out, done.err.count("\n")) == (status, "", 1), done
    assert words in done.err


@pytest.mark.contract("S2")
def test_a_person_sees_the_cli_types_into_it_and_leaves_it_as_it_is(person: Person) -> None:
    person.run(*START)
    terminal = attach(person)
    sees(terminal, "ready", "work", "leave with C-b d")
    terminal.send("typed by hand")
    eventually(lambda: prompt(person) == "> typed by hand")

    assert leave(terminal) == 0
    eventually(lambda: size(person) == "120x36")
    assert prompt(person) == "> typed by hand"
    assert person.sessions()[0]["state"] == "ready"


@pytest.mark.contract("S1")
def test_a_person_inside_another_tmux_can_attach(person: Person) -> None:
    person.run(*START)
    person.environment |= {"TMUX": f"{person.root}/outer,1,0", "TMUX_PANE": "%0"}
    terminal = attach(person)
    terminal.expect("ready")

    assert leave(terminal) == 0


def test_a_person_who_only_looks_presses_nothing_and_changes_no_size(person: Person) -> None:
    person.run(*START)
    terminal = attach(person, "--read-only")
    terminal.expect("ready")
    terminal.send("not for you")
    terminal.send("\x02d")
    terminal.expect(pexpect.EOF)

    assert (prompt(person), size(person)) == (">", "120x36")


def test_a_terminal_that_is_too_small_for_any_cli_sees_a_part_of_it(person: Person) -> None:
    person.run(*START)
    small = attach(person, rows=5, columns=20)
    eventually(lambda: "attached" in tmux(person, "list-clients", "-F", "#{client_flags}").replace("\n", " "))

    assert size(person) == "120x36"
    assert leave(small) == 0


def test_who_is_attached_when_a_session_is_stopped_is_let_go(person: Person) -> None:
    person.run(*START)
    terminal = attach(person)
    terminal.expect("ready")
    assert person.run("session", "stop", "work").status == 0

    terminal.expect(pexpect.EOF)
    assert person.processes() == []


def test_what_cannot_be_attached_to_is_said_in_one_line(person: Person) -> None:
    person.run(*START)
    assert_one_line(person.run("session", "attach", "work"), 4, "standard input is not one")
    terminal = person.at_terminal("session", "attach", "nobody")
    terminal.expect("mcp-agent: no session nobody")
    terminal.expect(pexpect.EOF)
    assert terminal.wait() == 2

    person.run("session", "stop", "work")
    terminal = person.at_terminal("session", "attach", "work")
    terminal.expect("is over: stopped")
    terminal.expect(pexpect.EOF)
    assert terminal.wait() == 1


@pytest.mark.parametrize("term", ["", "dumb"])
def test_a_terminal_that_cannot_move_a_cursor_is_told_so(person: Person, term: str) -> None:
    person.environment["TERM"] = term
    terminal = person.at_terminal("session", "attach", "work")
    terminal.expect("attaching needs a terminal: TERM")
    terminal.expect(pexpect.EOF)

    assert terminal.wait() == 4
