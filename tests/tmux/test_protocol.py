"""The control-mode parser, however its bytes are cut, and the quoting of words."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.tmux.connection import ControlConnection
from mcp_agent.tmux.process import Tmux
from mcp_agent.tmux.protocol import ControlParser, Event, Exit, Notification, Output, Reply, join, quote
from mcp_agent.tmux.server import ensure_server

STREAM = (
    b"%begin 1700000000 275 0\n%end 1700000000 275 0\n"
    b"%session-changed $0 _hub\n"
    b"%output %1 h\\303\\244i \\134 \xc3\xa4\\033[2m\\015\\012\n"
    b"stray line\n\n"
    b"%begin 1700000000 276 1\nfirst\n%end 1700000000 999 1\n%end 1600000000 276 1\n%output %1 no event\n\n"
    b"%begin 1700000000 277 1\n%end 1700000000 276 1\n"
    b"%begin 1700000001 280 1\nunknown command: x\n%error 1700000001 280 1\n"
    b"%subscription-changed d $0 @1 1 %1 : 1\n"
    b"%output %2 \n"
    b"%exit server exited\n"
)
EVENTS: list[Event] = [
    Reply(275, (), ok=True, ours=False),
    Notification("session-changed", ("$0", "_hub")),
    Output("%1", 33),
    Reply(
        276,
        (
            "first",
            "%end 1700000000 999 1",
            "%end 1600000000 276 1",
            "%output %1 no event",
            "",
            "%begin 1700000000 277 1",
        ),
        ok=True,
    ),
    Reply(280, ("unknown command: x",), ok=False),
    Notification("subscription-changed", ("d", "$0", "@1", "1", "%1", ":", "1")),
    Output("%2", 0),
    Exit("server exited"),
]


def test_replies_output_and_notifications_are_told_apart() -> None:
    assert ControlParser().feed(STREAM) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_the_events_do_not_depend_on_how_the_bytes_are_cut(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    parser = ControlParser()
    events = [event for a, b in pairwise(edges) for event in parser.feed(STREAM[a:b])]
    assert events == EVENTS


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(data: bytes) -> None:
    parser = ControlParser()
    parser.feed(data)
    assert parser.feed(b"\n%begin 1 2 1\n%end 1 2 1\n%exit\n") is not None


@pytest.mark.parametrize("line", [b"%output %7 ab\\015\\012", b"%extended-output %7 0 : ab"])
def test_output_is_told_with_its_size_alone(line: bytes) -> None:
    [told] = ControlParser().feed(line + b"\n")
    assert told == Output("%7", len(line.split(b" ", 2)[2]))


def test_a_nul_or_a_lone_surrogate_cannot_be_sent() -> None:
    with pytest.raises(ValueError, match="NUL"):
        quote("a\0b")
    with pytest.raises(ValueError, match="surrogates"):
        quote("\ud800")


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8")))
def test_a_quoted_word_never_ends_its_line(text: str) -> None:
    assert not set(quote(text)) & set("\n\r\t\x1b")


AWKWARD = [
    "",
    "a;",
    ";",
    "\\;",
    "-n",
    "--help",
    "~",
    "~/x",
    "$HOME ${HOME} $(id) `id`",
    "#{pid} #(id) #[x] ##",
    "{ }",
    "}",
    "'\"\\",
    "a\nb\r\n\tc",
    "\x1b[201~",
    "%end 1 2 3",
    "\\033\\n\\u00e4",
    "\n  # not a comment\n",
    "字 é ⚠️ 👩‍👩‍👧",
    "\x7f\x01\x80\x9f",
    "a" * 100_000,
]
WORDS = st.one_of(
    st.sampled_from(AWKWARD),
    st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=60),
    st.text("\\\"'$~#{};%- \n\t\r0123n", max_size=20),
)


def gather(texts: list[str]) -> None:
    """Add many generated texts, so that one server serves them all."""

    @given(st.lists(WORDS, min_size=1, max_size=4))
    def add(more: list[str]) -> None:
        texts.extend(more)

    add()


@pytest.mark.anyio
@pytest.mark.contract("I3")
async def test_any_text_comes_back_from_a_real_server_as_it_was_sent(socket: Path) -> None:
    tmux = Tmux.at(socket)
    await ensure_server(tmux)
    texts: list[str] = list(AWKWARD)
    gather(texts)
    async with ControlConnection.open(tmux) as connection:
        for text in texts:
            printed = await connection.sequence([["set-option", "-g", "@x", text], ["show-options", "-gv", "@x"]])
            assert "\n".join(printed[1]) == text


@pytest.mark.anyio
async def test_words_survive_being_quoted_twice(socket: Path) -> None:
    tmux = Tmux.at(socket)
    await ensure_server(tmux)
    async with ControlConnection.open(tmux) as connection:
        for text in AWKWARD[1:-1]:
            inner = join(["set-option", "-g", "@y", text])
            await connection.command("if-shell", "-F", "1", inner)
            assert "\n".join(await connection.command("show-options", "-gv", "@y")) == text
