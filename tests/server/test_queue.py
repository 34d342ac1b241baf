"""Messages of a real server: kept over its death, delivered at most once, in order."""

from __future__ import annotations

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import pytest

from mcp_agent.errors import RemoteError
from tests.server.conftest import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.conftest import Server

pytestmark = pytest.mark.contract("I5")

LONG_WORK = "run exactly this command: `sleep 600`"
Json = dict[str, Any]


class Sessions:
    """One session of the scripted agent, which writes down what it took."""

    def __init__(self, server: Server, record: Path, **quirks: object) -> None:
        self.server, self.record = server, record
        quirks_in_force = {"SCRIPTED_AGENT_QUIRKS": json.dumps({"record": str(record), **quirks})}
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(server.work), **quirks_in_force}
        self.id = server.start_session(environment=environment, allow_tools=["execute_shell_command"])

    def post(self, path: str, **body: object) -> Json:
        return self.server.client.post(f"/sessions/{self.id}/{path}", body, waits=True)

    def queue(self, text: str) -> str:
        sent = self.post("send", text=text, mode="queue")
        assert (sent["outcome"], sent["turn_id"]) == ("waiting", None)
        return str(sent["message_id"])

    def messages(self) -> list[Json]:
        return cast("list[Json]", self.server.client.get(f"/sessions/{self.id}/messages")["messages"])

    def states(self) -> list[str]:
        return [str(message["state"]) for message in self.messages()]

    def until(self, *states: str) -> None:
        eventually(lambda: self.states() == list(states))

    def submitted(self) -> list[str]:
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [note["text"] for note in map(json.loads, lines) if note["kind"] == "submit"]

    def refused(self, method: str, path: str, **body: object) -> RemoteError:
        with pytest.raises(RemoteError) as caught:
            self.server.client._request(method, f"/sessions/{self.id}/{path}", body=body, waits=True)
        assert "\n" not in str(caught.value)
        return caught.value


def test_what_was_queued_while_a_turn_ran_outlives_the_server_and_is_delivered_in_order(
    server: Server, short_tmp: Path
) -> None:
    gate = short_tmp / "gate"
    session = Sessions(server, short_tmp / "record", thinks_until=str(gate))
    session.post("send", text="think")
    for number in range(3):
        session.queue(f"message {number}")
    server.crash()
    server.start_again()
    assert session.states() == ["delivered", "waiting", "waiting", "waiting"]
    assert session.messages()[1]["waits_for"] == "a turn runs"

    gate.touch()
    session.until(*["delivered"] * 4)
    assert session.submitted() == ["think", "message 0", "message 1", "message 2"]
    assert len({message["turn_id"] for message in session.messages()}) == 4


def test_a_server_that_dies_while_it_types_leaves_an_unconfirmed_message_and_a_usable_session(
    server: Server, short_tmp: Path
) -> None:
    session = Sessions(server, short_tmp / "record", eats_enters=1)
    session.queue("half way")
    session.until("sending")
    server.crash()
    server.start_again()
    session.until("unconfirmed")
    assert "the server died" in session.messages()[0]["reason"]

    session.queue("next")
    session.until("unconfirmed", "delivered")
    assert session.submitted() == ["next"]


def test_what_the_cli_told_while_no_server_ran_decides(server: Server, short_tmp: Path) -> None:
    session = Sessions(server, short_tmp / "record", eats_enters=1)
    session.queue("told meanwhile")
    session.until("sending")
    server.crash()
    events = server.state.session(session.id) / "events"
    told = {"event": "prompt_accepted", "text": "told meanwhile", "queued": False}
    (events / "00000000000000000001-1.json").write_text(json.dumps(told))
    server.start_again()

    session.until("delivered")
    turns = server.client.get(f"/sessions/{session.id}/turns")["turns"]
    assert [turn["id"] for turn in cast("list[Json]", turns)] == [session.messages()[0]["turn_id"]]


@pytest.mark.parametrize("rounds", [2, pytest.param(40, marks=pytest.mark.long)])
def test_a_server_that_is_killed_at_any_moment_delivers_nothing_twice_and_nothing_out_of_order(
    server: Server, short_tmp: Path, rounds: int
) -> None:
    session, moment = Sessions(server, short_tmp / "record"), random.Random(rounds)
    for number in range(rounds):
        for part in "abc":
            session.queue(f"message {number}{part}")
        time.sleep(moment.uniform(0, 0.6))
        server.crash()
        server.start_again()
    eventually(lambda: not {"waiting", "sending"} & set(session.states()))

    submitted = session.submitted()
    certain = [message["text"] for message in session.messages() if message["state"] == "delivered"]
    assert submitted == sorted(set(submitted), key=[message["text"] for message in session.messages()].index)
    assert set(certain) <= set(submitted)
    assert len(certain) >= rounds


def test_clients_that_queue_at_once_get_one_turn_each(shared_server: Server, short_tmp: Path) -> None:
    session = Sessions(shared_server, short_tmp / "record")
    with ThreadPoolExecutor(5) as clients:
        list(clients.map(session.queue, "abcde"))
    session.until(*["delivered"] * 5)
    assert session.submitted() == [message["text"] for message in session.messages()]


def test_a_withdrawn_message_and_one_of_a_stopped_session_go_to_nobody(shared_server: Server, short_tmp: Path) -> None:
    session = Sessions(shared_server, short_tmp / "record")
    session.post("send", text=LONG_WORK)
    withdrawn = session.queue("withdrawn")
    session.queue("too late")
    shared_server.client.delete(f"/sessions/{session.id}/messages/{withdrawn}")
    session.post("stop")

    assert session.states() == ["delivered", "withdrawn", "refused"]
    assert session.messages()[2]["reason"] == "the session was stopped"
    assert session.refused("DELETE", f"messages/{withdrawn}").kind == "NotWithdrawn"
    assert session.refused("POST", "send", text="after", mode="queue").kind == "SessionEnded"
    assert session.submitted() == [LONG_WORK]


@pytest.mark.contract("I2", "I3")
def test_what_cannot_be_sent_is_one_clear_line(shared_server: Server, short_tmp: Path) -> None:
    session = Sessions(shared_server, short_tmp / "record")
    for mode in ("now", "queue"):
        for text in ("", " \n", "a\0b", "x" * (1024 * 1024 + 1)):
            assert session.refused("POST", "send", text=text, mode=mode).kind == "SendRefused"
    assert session.refused("POST", "send", text="left", mode="steer").kind == "SendRefused"
    assert session.refused("POST", "send", text="left", mode="soon").kind == "BadRequest"
    assert session.refused("POST", "command", text="no command").kind == "CommandRefused"
    assert session.refused("DELETE", "messages/m-0").kind == "UnknownMessage"
    raw = b'{"text": "a\\ud800b", "mode": "queue"}'
    token = shared_server.state.read_owner_token()
    answer = shared_server.ask("POST", f"/sessions/{session.id}/send", token=token, content=raw)
    assert (answer.status_code, answer.json()["error"]["kind"]) in {(409, "SendRefused"), (422, "BadRequest")}
    assert (session.messages(), session.submitted()) == ([], [])

    session.id = "s-0"
    assert session.refused("POST", "send", text="hello", mode="queue").kind == "UnknownSession"
    assert session.refused("GET", "messages").kind == "UnknownSession"


@pytest.mark.contract("T10")
def test_a_deadline_interrupts_the_turn_and_the_session_goes_on(shared_server: Server, short_tmp: Path) -> None:
    session = Sessions(shared_server, short_tmp / "record")
    turn = session.post("send", text=LONG_WORK)["turn_id"]
    # A call that the agent makes only after the interrupt is refused, and ends the turn in another way.
    eventually(lambda: shared_server.client.get("/calls", session=session.id)["calls"])
    assert session.post(f"turns/{turn}/deadline") == {"interrupted": True, "kept": True}
    assert session.post(f"turns/{turn}/deadline") == {"interrupted": True, "kept": True}
    ended = shared_server.client.get(f"/sessions/{session.id}/turns/{turn}")
    assert (ended["outcome"], ended["reason"]) == ("interrupted", "deadline")
    assert session.post("send", text="go on")["outcome"] == "delivered"


@pytest.mark.contract("I3")
def test_a_command_whose_popup_eats_an_enter_is_run_once(shared_server: Server, short_tmp: Path) -> None:
    session = Sessions(shared_server, short_tmp / "record", modes=True)
    assert session.post("command", text="/compact now") == {"outcome": "executed"}
    notes = [json.loads(line) for line in session.record.read_text().splitlines()]
    assert [note["text"] for note in notes if note["kind"] == "command"] == ["/compact now"]
    assert session.submitted() == []
