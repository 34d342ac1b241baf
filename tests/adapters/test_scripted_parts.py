"""The parts of the scripted agent's program that need nothing around them: keys, text, questions, built-in rules."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.scripted_agent.interface import TrustQuestion
from adapters.scripted_agent.keys import Key, KeyParser, KeyPress, Pasted, Typed
from adapters.scripted_agent.model import Answer, BuiltInModel, CallRequest, Tools
from adapters.scripted_agent.text import cells, original, visible, wrap
from adapters.scripted_agent.transcript import Entry

TOOLS: Tools = [{"name": "execute_shell_command"}]


# --- keys -------------------------------------------------------------------------------------------------------------


def keys(*pieces: bytes) -> list[KeyPress]:
    parser = KeyParser()
    return [press for piece in pieces for press in parser.feed(piece)] + parser.flush()


@pytest.mark.parametrize(
    ("data", "presses"),
    [
        (b"hi\r", [Typed("hi"), Key.ENTER]),
        (b"a\nb", [Typed("a"), Typed("\n"), Typed("b")]),
        (b"\x1b", [Key.ESCAPE]),
        (b"\x1b[A\x1bOB", [Key.UP, Key.DOWN]),
        (b"\x1b[1;5C\x1b[I\x01", []),
        (b"\x1bx", [Key.ESCAPE, Typed("x")]),
        (b"\x1b\x1b[200~x\x1b[201~", [Key.ESCAPE, Pasted("x")]),
        (b"\x03\x04\x15\x7f\x08", [Key.BREAK, Key.END, Key.CLEAR, Key.BACKSPACE, Key.BACKSPACE]),
        (b"\x1b[200~a\nb\r\n/c\x1b[A\x03\x1b[201~\r", [Pasted("a\nb\r\n/c\x1b[A\x03"), Key.ENTER]),
        (b"\x1b[200~a\rb\x1b[201~", [Pasted("a\nb")]),
        ("é漢".encode(), [Typed("é漢")]),
    ],
)
def test_bytes_are_read_as_keys(data: bytes, presses: list[KeyPress]) -> None:
    assert keys(data) == presses


@pytest.mark.contract("I3")
@given(st.text(), st.data())
def test_a_paste_is_one_text_however_it_is_cut(text: str, data: st.DataObject) -> None:
    meant = text.replace("\x1b[201~", "").encode("utf-8", "replace").decode()
    whole = f"\x1b[200~{meant}\x1b[201~\r".encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    assert keys(*pieces) == [Pasted(meant if "\n" in meant else meant.replace("\r", "\n")), Key.ENTER]


# --- text -------------------------------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_characters="\n")), st.integers(2, 30))
def test_wrapped_rows_fit_and_lose_nothing(line: str, width: int) -> None:
    rows = wrap(line, width)

    assert "".join(rows) == line
    assert all(sum(map(cells, row)) <= width for row in rows)


@given(st.text())
def test_no_control_character_reaches_the_terminal(text: str) -> None:
    assert not any(char < " " or "\x7f" <= char < "\xa0" for char in visible(text).replace("\n", ""))


def test_a_drawn_tab_is_still_a_tab() -> None:
    assert original(visible("a\tb\nc")) == "a\tb\nc"


# --- questions and built-in rules ---------------------------------------------------------------------------------


def test_trust_is_not_given_by_pressing_enter() -> None:
    question = TrustQuestion("/work")
    question.press(Key.ENTER)

    assert question.answer is False


def test_trust_is_given_by_choosing_it() -> None:
    question = TrustQuestion("/work")
    for press in (Typed("y"), Key.DOWN, Key.ENTER):
        question.press(press)

    assert question.answer is True


def test_without_an_endpoint_a_prompt_is_echoed() -> None:
    assert BuiltInModel().reply([{"type": "user", "text": "hello"}], TOOLS) == Answer("ECHO: hello")


def test_without_an_endpoint_a_quoted_command_is_run_and_its_output_told() -> None:
    entries: list[Entry] = [{"type": "user", "text": "Please run exactly this command: `ls -l`."}]
    reply = BuiltInModel().reply(entries, TOOLS)
    assert isinstance(reply, CallRequest)
    assert (reply.tool, reply.arguments) == ("execute_shell_command", {"command": "ls -l"})

    entries.append({"type": "tool_result", "call_id": "c1", "text": "a b"})
    assert BuiltInModel().reply(entries, TOOLS) == Answer("OUTPUT a b")
