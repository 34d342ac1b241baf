"""What users of other programs of this kind reported, one row each; the numbers are those of the list of peers."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest

from mcp_agent.adapter import Ready
from mcp_agent.tmux.connection import HUB

if TYPE_CHECKING:
    from pathlib import Path

    from tests.faults.conftest import House, Session

COMMAND = "Please run exactly this command: `true`."
"""The scripted agent asks before it runs this."""


@pytest.mark.contract("I5")
def test_peer_01_a_message_queued_to_an_idle_session_is_delivered(house: House) -> None:
    session = house.start()
    queue(session, "hello")

    session.until(lambda: session.submitted == ["hello"])


@pytest.mark.contract("I5")
def test_peer_02_triggers_that_come_at_once_deliver_a_message_once(house: House) -> None:
    session = house.start(thinks_until="gate")
    session.send("work")
    queue(session, "first")
    queue(session, "second")
    assert session.submitted == ["work"]

    session.open_gate()
    triggers = [threading.Thread(target=tell_of_event, args=(session,)) for _ in range(8)]
    for trigger in triggers:
        trigger.start()
    for trigger in triggers:
        trigger.join()

    session.until(lambda: len(session.submitted) >= 3)
    session.until(lambda: session.state == "ready")
    assert session.submitted == ["work", "first", "second"]


@pytest.mark.contract("I1", "I3")
def test_peer_03_no_escape_of_ours_is_in_a_paste_and_no_text_can_end_it(house: House) -> None:
    session = house.start()
    assert session.send("hello") == "delivered"
    assert session.received == "\x1b[200~hello\x1b[201~\r"

    assert "U+001B" in str(session.refused("x\x1b[201~\ry"))
    assert session.submitted == ["hello"]


@pytest.mark.contract("I1")
def test_peer_04_copy_mode_swallows_no_input(house: House) -> None:
    session = house.start()
    house.tmux("copy-mode", "-t", session.pane)
    house.tmux("send-keys", "-t", session.pane, "-X", "begin-selection")

    assert session.send("hello") == "delivered"
    assert house.tmux("display-message", "-p", "-t", session.pane, "#{pane_in_mode}") == "0"


@pytest.mark.contract("S3")
def test_peer_05_without_any_news_of_output_the_state_still_follows_the_screen(house: House) -> None:
    session = house.start(thinks_until="gate", tells=False, ticks=True)
    session.type("-l", "hello")
    session.type("Enter")
    session.until(lambda: session.state == "busy")
    house.tmux("unlink-window", "-t", f"={HUB}:{session.show()['pane']['window_id']}")

    assert session.submitted == ["hello"]
    assert session.state == "busy"
    session.open_gate()
    session.until(lambda: session.state == "ready")


@pytest.mark.contract("S8")
def test_peer_06_sessions_that_come_and_go_leave_no_thread_and_no_descriptor(own_house: House) -> None:
    """A worker thread or a connection more or less is no leak; one for each of the cycles is."""
    keep, cycles = own_house.start(), 4
    server = psutil.Process(own_house.pid)
    own_house.start().stop()
    threads, descriptors = server.num_threads(), server.num_fds()
    for _ in range(cycles):
        own_house.start().stop()

    keep.until(lambda: server.num_threads() < threads + cycles and server.num_fds() < descriptors + cycles)
    assert keep.send("hello") == "delivered"


@pytest.mark.contract("S3", "I1")
def test_peer_09_an_approval_menu_is_waited_at_and_takes_no_prompt(house: House) -> None:
    session = house.start()
    session.send(COMMAND)
    session.until(lambda: session.state == "waiting")
    received = session.received

    assert session.show()["detail"] == "permission"
    assert "waits for an answer" in str(session.refused("another task"))
    assert session.received == received


@pytest.mark.contract("I5")
def test_peer_09_a_message_queued_at_an_approval_menu_waits_for_the_answer(house: House) -> None:
    session = house.start()
    session.send(COMMAND)
    session.until(lambda: session.state == "waiting")
    queue(session, "another task")
    tell_of_event(session)
    assert session.submitted == [COMMAND]

    session.type("Down", "Enter")
    session.until(lambda: session.submitted == [COMMAND, "another task"])


@pytest.mark.contract("S3")
def test_peer_11_an_old_spinner_in_the_scrollback_keeps_nothing_busy(house: House) -> None:
    session = house.start(scrollback=["✻ Working… (12s · ↑ 1.2k tokens)", "working · esc to interrupt"])

    assert "working · esc to interrupt" in house.tmux("capture-pane", "-p", "-S", "-", "-t", session.pane)
    assert (session.state, session.says()) == ("ready", [Ready()])


@pytest.mark.contract("S4", "I1")
def test_peer_12_a_session_that_is_called_ready_takes_a_prompt(house: House) -> None:
    session = house.start(ghost="deploy to prod", footer=["? for shortcuts"], ticks=True, draw_lags_seconds=0.2)
    for number in range(3):
        session.until(lambda: session.state == "ready")
        assert session.send(f"task {number}") == "delivered"


@pytest.mark.contract("I1", "I2")
@pytest.mark.parametrize("times", [8, pytest.param(100, marks=[pytest.mark.long, pytest.mark.timeout(600)])])
def test_peer_13_enter_soon_after_a_paste_never_becomes_a_new_line(house: House, times: int) -> None:
    session = house.start(enter_joins_seconds=0.12)
    texts = [f"line one of {number}\nline two" for number in range(times)]
    for text in texts:
        assert session.send(text) in {"delivered", "queued"}

    assert session.submitted == texts


@pytest.mark.contract("I1")
def test_peer_14_a_stale_draft_and_the_next_message_are_never_one_prompt(house: House) -> None:
    session = house.start()
    session.type("-l", "half a thought")
    session.until(lambda: session.composer().draft == "half a thought")

    session.refused("a whole one")
    session.type("Enter")
    session.until(lambda: session.state == "ready" and session.submitted)
    assert session.send("a whole one") == "delivered"
    assert session.submitted == ["half a thought", "a whole one"]


@pytest.mark.contract("I1")
def test_peer_14_a_draft_that_may_be_discarded_is_no_part_of_the_prompt(house: House) -> None:
    session = house.start()
    session.type("-l", "half a thought")
    session.until(lambda: session.composer().draft == "half a thought")

    assert session.send("a whole one", clear_draft=True) == "delivered"
    assert session.submitted == ["a whole one"]


@pytest.mark.contract("S5")
@pytest.mark.parametrize("yes_first", [True, False])
def test_peer_15_trust_is_chosen_by_its_label_wherever_it_stands(
    house: House, short_tmp: Path, yes_first: bool
) -> None:
    place = {"working_directory": str(short_tmp)}
    session = house.start({"HOME": str(short_tmp)}, asked=place, yes_first=yes_first, draw_lags_seconds=0.6)

    assert session.received == ("\r" if yes_first else "\x1b[B\r")


@pytest.mark.contract("I2")
def test_peer_16_a_submission_that_is_tried_again_is_one_turn(house: House) -> None:
    session = house.start(eats_enters=1)

    assert session.send("only once") == "delivered"
    assert (session.submitted, session.pastes) == (["only once"], 1)
    assert len(session.show()["turns"]) == 1


def queue(session: Session, text: str) -> None:
    """Leave a message that is delivered when it can be."""
    session.house.client.post(f"/sessions/{session.id}/send", {"text": text, "mode": "queue"}, waits=True)


def tell_of_event(session: Session) -> None:
    """What the program's hook does after it spooled an event."""
    state = session.house.state
    token = json.loads((state.session(session.id) / "bridge.json").read_text())["token"]
    transport = httpx.HTTPTransport(uds=str(state.server_socket))
    with httpx.Client(transport=transport, base_url="http://mcp-agent") as http:
        http.post(f"/s/{session.id}/events", headers={"Authorization": f"Bearer {token}"})
