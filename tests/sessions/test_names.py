"""What a session may be called, which variables may be named for it, and which session a name means."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent.cli.session.named import session_reference
from mcp_agent.errors import BadSessionName, BadVariable, SessionNameTaken, UnknownSession
from mcp_agent.sessions.names import Names, check_name, is_name, session_named, tags_of
from mcp_agent.sessions.record import SessionOptions, SessionRecord
from mcp_agent.sessions.starting.named_variables import read_variables, without_named


def record(id_: str, name: str | None = "work", *, at: float = 0.0, stopped: bool = False) -> SessionRecord:
    place = Path("/work")
    return SessionRecord(id_, "scripted", place, home=place, created_at=at, name=name, stopped=stopped)


@pytest.mark.parametrize("name", ["a", "7", "rel.1", "rel_1", "rel:1", "S-1", "x" * 64, "a.._-:"])
def test_a_name_of_ordinary_characters_will_do(name: str) -> None:
    assert check_name(name) == name
    assert session_reference(name) == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "is empty"),
        ("x" * 300, "has 300 characters; 64 are allowed"),
        ("s-0123456789", "looks like a session's id"),
        *(
            (name, "may have ASCII letters")
            for name in ("a b", "größe", "a/../b", "a\nb", "a\0b", "\udcff", "a?b", "٣")
        ),
        *((name, "begins with a letter or digit") for name in ("-x", ".x", "..", ":x", "_x")),
    ],
)
def test_a_name_that_will_not_do_is_refused_with_the_rule(name: str, problem: str) -> None:
    with pytest.raises(BadSessionName, match=problem):
        check_name(name)
    assert not is_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "''"),
        ("s-1/stop?", "s-1/stop?"),
        ("../calls", "../calls"),
        ("a b", "a b"),
        ("x" * 300, "x" * 60),
        ("s-" + "a" * 100_000, "s-" + "a" * 58),
        ("\x1b[2J", "'\\x1b[2J'"),
        ("a\0b", "'a\\x00b'"),
        ("\udcff", "'\\udcff'"),
    ],
)
def test_what_is_neither_an_id_nor_a_name_is_no_session_and_never_stands_in_a_path(text: str, shown: str) -> None:
    with pytest.raises(UnknownSession) as caught:
        session_reference(text)
    assert str(caught.value) == f"no session {shown}; see `mcp-agent session list`"


def test_a_name_means_the_session_that_holds_it_or_else_the_last_one_that_did() -> None:
    first, second = record("s-1", at=1, stopped=True), record("s-2", at=2, stopped=True)
    holder, other = record("s-0", at=0), record("s-3", "other", at=3)

    assert session_named("work", [first, second, other]) == "s-2"
    assert session_named("work", [first, second, holder, other]) == "s-0"
    assert session_named("wor", [first, holder]) is None


def test_a_name_is_taken_while_a_session_has_it_or_is_being_started_with_it() -> None:
    names = Names()
    with pytest.raises(SessionNameTaken, match="session s-1 is called work already"):
        names.claim(record("s-2"), [record("s-1")])
    names.claim(record("s-2"), [record("s-1", stopped=True), record("s-2"), record("s-3", None)])
    with pytest.raises(SessionNameTaken, match="s-2"):
        names.claim(record("s-4"), [])
    names.claim(record("s-5", None), [])
    names.release(record("s-5", None))
    names.release(record("s-2"))
    names.claim(record("s-4"), [])


def test_a_pane_is_marked_with_a_name_only_where_there_is_one() -> None:
    assert tags_of(record("s-1")) == {"session": "s-1", "provider": "scripted", "name": "work"}
    assert tags_of(record("s-1", None)) == {"session": "s-1", "provider": "scripted"}


def test_a_variable_takes_the_callers_value_or_the_one_that_is_given() -> None:
    words = ["TOKEN", "MODE=a=b", "EMPTY=", "TWICE=1", "TWICE=2", "NONE"]
    expected = {"TOKEN": "alpha", "MODE": "a=b", "EMPTY": "", "TWICE": "2", "NONE": ""}
    assert read_variables(words, {"TOKEN": "alpha", "NONE": "", "OTHER": "x"}) == expected


@pytest.mark.parametrize(
    ("word", "problem"),
    [
        ("NOT_SET", "'NOT_SET' is not set here; write NAME=VALUE"),
        ("", "'' is not set here"),
        *((word, "is no name of a variable") for word in ("=x", "1A=x", "A B=x", "A-B=x", "Ä=x", "A\n=x")),
        *((f"{name}=x", "is set by mcp-agent itself") for name in ("TERM", "TMUX", "TMUX_PANE", "MCP_AGENT_SESSION")),
        ("A=" + "x" * 65_537, "'A' has a value of 65537 bytes; 65536 are allowed"),
        ("A=\udcff", "'A' has a value that is not valid UTF-8"),
        ("A=secret\0", "'A' has a value with a NUL in it"),
    ],
)
def test_a_variable_that_no_session_can_have_is_refused_and_its_value_is_not_told(word: str, problem: str) -> None:
    with pytest.raises(BadVariable) as caught:
        read_variables([word], {})
    assert problem in str(caught.value)
    assert "secret" not in f"{caught.value!r} {vars(caught.value)}"


def test_a_record_of_what_is_over_keeps_no_value_that_was_named() -> None:
    place = Path("/work")
    options = SessionOptions("scripted", place, environment={}, named_variables=frozenset({"TOKEN"}))
    kept = {"PATH": "/bin", "TOKEN": "alpha"}
    over = SessionRecord("s-1", "scripted", place, place, 0.0, shell_environment=kept, options=options)

    assert without_named(over).shell_environment == {"PATH": "/bin"}
    assert without_named(record("s-1")) == record("s-1")
