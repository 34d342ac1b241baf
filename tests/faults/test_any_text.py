"""Any text, through the real send and a real tmux: it arrives byte for byte and once, or is refused with a reason."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_agent.errors import RemoteError
from mcp_agent.registry import load

if TYPE_CHECKING:
    from tests.faults.conftest import House, Session

AT_ONCE = 5
"""Sessions that take texts at the same time."""
LARGEST = 1 << 20
PASTE = re.compile("\x1b\\[200~(.*?)\x1b\\[201~", re.DOTALL)

PIECES = (
    *("Enter", "C-c", "Escape", "C-u", "BSpace", "#{pane_id}", "#(id)", "$(id)", "`id`", "%1", "~.", "exit", "EOF"),
    *(
        "\r\n",
        "\n",
        "\r",
        "\t",
        "\n\n\n",
        " ",
        "   ",
        "\\",
        "\\n",
        ";",
        "\\;",
        "'",
        '"',
        "\x1b[201~",
        "\x1b[200~",
        "\x03",
    ),
    *(
        "e\u0301",
        "é",
        "n\u0303\u0323",
        "漢字",
        "ｆｕｌｌ",
        "한\u1100\u1161",
        "\u05e9\u05dc\u05d5\u05dd",
        "\u0645\u0631\u062d\u0628\u0627",
    ),
    *("👩‍👩‍👧‍👦", "👍🏽", "🏳️‍🌈", "🇨🇭", "☺️", "☺", "\u200b", "\u00a0", "\u2028", "\ufeff", "\u00ad", "\u202e", "\ufffd"),
    *("─" * 130, "> ", "| ", "❯ 1. Allow", "word", "a longer sentence, with punctuation."),
)
UNITS = ("x", "漢", "🙂", "e\u0301", "a line\n", "many words on a line ", "\u05e9")
LEADING = ("/", "!", "#", "@", "-", "--", " /", " !", ";")


def of_size(unit: str, size: int) -> str:
    """This unit again and again, as many bytes as asked for or a few less, and never none."""
    repeated = unit * (size // len(unit.encode()) + 1)
    return repeated.encode()[:size].decode(errors="ignore") or "x"


pieced = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), min_size=1, max_size=12).map("".join)
sized = st.builds(of_size, st.sampled_from(UNITS), st.integers(0, 20).flatmap(lambda bits: st.integers(1, 1 << bits)))
leading = st.builds(str.__add__, st.sampled_from(LEADING), pieced)
trailing = st.builds(str.__add__, pieced, st.sampled_from((";", "\\;", "\n", "\\", " ")))
texts = st.text(min_size=1, max_size=200) | pieced | sized | leading | trailing
batches = st.lists(texts, min_size=AT_ONCE, max_size=AT_ONCE)


@dataclass
class Taker:
    """A session, and where in its record the last send ended."""

    session: Session
    offset: int = 0

    def new_notes(self) -> list[tuple[str, str]]:
        if not self.session.record.exists():
            return []
        with self.session.record.open("rb") as file:
            file.seek(self.offset)
            data = file.read()
        self.offset += len(data)
        return [(note["kind"], note["text"]) for note in map(json.loads, data.splitlines())]

    def check(self, text: str) -> None:
        """Send one text, and compare what became of it with what the program saw."""
        try:
            outcome, reason = self.session.send(text), ""
        except RemoteError as refused:
            outcome, reason = "refused", str(refused)
        notes = self.new_notes()
        received = "".join(seen for kind, seen in notes if kind == "read").encode("latin-1").decode()
        submitted = [seen for kind, seen in notes if kind == "submit"]
        if outcome == "refused":
            assert (received, submitted) == ("", []), reason
            assert "did not take the prompt" in reason
            return
        placed = load("scripted").guard(text)
        assert outcome in {"delivered", "queued"}
        assert PASTE.findall(received) == [placed]
        assert submitted == [text if "\n" in text else text.replace("\r", "\n")]


@pytest.fixture(scope="module")
def takers(house: House) -> list[Taker]:
    return [Taker(house.start()) for _ in range(AT_ONCE)]


def send_all(takers: list[Taker], batch: list[str]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for checked in [threads.submit(taker.check, text) for taker, text in zip(takers, batch, strict=True)]:
            checked.result()


@pytest.mark.contract("I2", "I3")
@settings(max_examples=40)
@given(batch=batches)
def test_any_text_arrives_byte_for_byte_once_or_is_refused(takers: list[Taker], batch: list[str]) -> None:
    send_all(takers, batch)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.contract("I2", "I3")
@settings(max_examples=400, derandomize=False)
@given(batch=batches)
def test_two_thousand_texts_arrive_byte_for_byte_once_or_are_refused(takers: list[Taker], batch: list[str]) -> None:
    send_all(takers, batch)
