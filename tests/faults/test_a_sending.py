"""Area a of the known faults: text that goes into a terminal program."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.faults.conftest import House, Session

NUMBERED = "\n".join(f"{number:2}. {'a line of a long prompt '.ljust(118, '.')}" for number in range(40))
EMOJI = "\N{SLIGHTLY SMILING FACE}"

SENDER = r"""
import http.client, json, socket, sys
path, token, markers = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.stdin.read()
for session, marker in markers:
    connection = http.client.HTTPConnection("mcp-agent", timeout=100)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(path)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", f"/sessions/{session}/send", json.dumps({"text": marker}), headers)
    print(json.loads(connection.getresponse().read())["outcome"])
"""
"""Sends each marker to its session, over the server's own API, as soon as its stdin is closed."""


@dataclass
class Silent:
    """Two sessions whose programs say nothing of what they take, and the outcome of a send to each."""

    stalled: Session
    mute: Session
    outcomes: list[Future[str]]


@pytest.fixture(scope="module", autouse=True)
def silent(house: House) -> Iterator[Silent]:
    """Both sends wait for what never comes while the other tests run. Trust is given in the session that reads keys."""
    mute = house.start(draft_stays_seconds=6, tells=False, thinks_until="gate")
    stalled = house.start(reads_after="gate")
    with ThreadPoolExecutor(2) as threads:
        sends = [threads.submit(stalled.send, "x" * 200_000), threads.submit(mute.send, "only once")]
        yield Silent(stalled, mute, sends)


@pytest.mark.contract("I1", "I2")
def test_a01_enter_right_after_other_input_is_still_one_submission(house: House) -> None:
    session = house.start(enter_joins_seconds=0.08)

    assert session.send("fix the parser") == "delivered"
    assert session.submitted == ["fix the parser"]
    assert session.composer().draft == ""


@pytest.mark.contract("I1", "I3")
@pytest.mark.parametrize("brackets", [True, False])
def test_a02_forty_lines_are_one_paste_and_one_submission(house: House, brackets: bool) -> None:
    session = house.start(brackets=brackets)

    assert session.send(NUMBERED) == "delivered"
    assert session.submitted == [NUMBERED]
    assert session.pastes == (1 if brackets else 0)
    assert ("[200~" in session.received) is brackets


@pytest.mark.contract("I3")
def test_a03_words_that_tmux_takes_for_its_own_arrive_as_they_are(house: House) -> None:
    session = house.start()
    texts = [";", "go;", "a;;", "a\\;", "-n", "--help", "-----BEGIN X"]

    assert {session.send(text) for text in texts} <= {"delivered", "queued"}
    assert session.submitted == texts


@pytest.mark.contract("I3")
@pytest.mark.parametrize("character", ["x", EMOJI])
def test_a05_a_prompt_of_any_size_arrives_whole(house: House, character: str) -> None:
    session = house.start()
    for size in (4_095, 4_097, 16_384, 65_537, 200_000):
        text = (character * size).encode()[:size].decode(errors="ignore")
        session.send(text)

        arrived = session.submitted[-1]
        assert hashlib.sha256(arrived.encode()).digest() == hashlib.sha256(text.encode()).digest()
    assert (len(session.submitted), session.pastes) == (5, 5)


@pytest.mark.contract("I3")
def test_a08_a_prompt_never_enters_a_mode_and_arrives_unchanged(house: House) -> None:
    session = house.start(modes=True)
    texts = ["!important: rename x", "/compact is not meant", " !indented", "#note", "@file is a word"]

    assert {session.send(text) for text in texts} <= {"delivered", "queued"}
    assert session.submitted == texts
    assert session.notes("mode") + session.notes("shell") + session.notes("command") == []


@pytest.mark.contract("I3")
def test_a08_a_command_is_executed_once_though_its_popup_eats_an_enter(house: House) -> None:
    session = house.start(modes=True)
    ran = house.client.post(f"/sessions/{session.id}/command", {"text": "/compact now"}, waits=True)

    assert ran["outcome"] == "executed"
    assert session.notes("command") == ["/compact now"]
    assert session.submitted == []


@pytest.mark.contract("I1")
@pytest.mark.parametrize("scrolled", [True, False])
def test_a09_a_pane_that_a_person_scrolled_takes_the_prompt_once(house: House, scrolled: bool) -> None:
    session = house.start()
    if scrolled:
        house.tmux("copy-mode", "-t", session.pane)

    assert session.send("hello") == "delivered"
    assert session.submitted == ["hello"]
    assert house.tmux("display-message", "-p", "-t", session.pane, "#{pane_in_mode}") == "0"


@pytest.mark.contract("I1")
@pytest.mark.parametrize("rounds", [1, pytest.param(4, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_a10_twenty_processes_that_send_to_four_panes_mix_nothing(house: House, rounds: int) -> None:
    sessions = [house.start() for _ in range(4)]
    markers = [
        [(sessions[(sender + turn) % 4], f"marker {sender} of round {turn}") for turn in range(rounds)]
        for sender in range(20)
    ]

    outcomes = send_at_once(house, markers)

    assert Counter(outcomes).keys() <= {"delivered", "queued"}
    assert len(outcomes) == 20 * rounds
    for session in sessions:
        meant = [marker for sender in markers for to, marker in sender if to is session]
        assert Counter(session.submitted) == Counter(meant)
    assert house.tmux("list-buffers") == ""


@pytest.mark.contract("I2")
def test_a11_a_composer_that_is_slow_to_clear_is_no_reason_to_send_again(house: House) -> None:
    session = house.start(draft_stays_seconds=3)

    assert session.send("only once") in {"delivered", "unconfirmed"}
    session.until(lambda: session.composer().draft == "")
    assert (session.submitted, session.pastes) == (["only once"], 1)


@pytest.mark.contract("I2")
def test_a05_a_reader_that_stalls_makes_the_send_unconfirmed_and_submits_nothing(silent: Silent) -> None:
    session = silent.stalled

    assert silent.outcomes[0].result() == "unconfirmed"
    session.open_gate()
    session.until(lambda: session.received.endswith("\x1b[201~"))
    assert session.submitted == []


@pytest.mark.contract("I2")
def test_a11_without_any_word_of_the_program_a_slow_composer_is_not_submitted_twice(silent: Silent) -> None:
    session = silent.mute

    assert silent.outcomes[1].result() in {"delivered", "unconfirmed"}
    session.until(lambda: session.composer().draft == "")
    assert (session.submitted, session.pastes) == (["only once"], 1)


def send_at_once(house: House, markers: list[list[tuple[Session, str]]]) -> list[str]:
    """One process for each list; the outcomes of all."""
    token = house.state.read_owner_token()
    senders = []
    for sender in markers:
        told = json.dumps([(session.id, marker) for session, marker in sender])
        argv = [sys.executable, "-I", "-c", SENDER, str(house.state.server_socket), str(token), told]
        senders.append(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    for process in senders:
        assert process.stdin is not None
        process.stdin.close()
    outcomes = []
    for process in senders:
        with process:
            assert process.stdout is not None
            outcomes += process.stdout.read().split()
    return outcomes
