"""Events that could not be spooled: their hook hands them to the server itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.server.conftest import BOUND_SECONDS

if TYPE_CHECKING:
    from tests.server.conftest import Json, Server

pytestmark = pytest.mark.contract("S3")


def hand(server: Server, session: str, body: bytes, **headers: str) -> int:
    """The status of the answer."""
    answer = server.ask("POST", f"/s/{session}/events", token=server.token_of(session), headers=headers, content=body)
    return answer.status_code


def turns(server: Server, session: str) -> list[Json]:
    found: list[Json] = server.client.get(f"/sessions/{session}/turns")["turns"]  # type: ignore[assignment]
    return found


def test_a_turn_begins_and_ends_though_no_event_can_be_spooled(server: Server, session: str) -> None:
    spool = server.state.session(session) / "events"
    spool.rename(spool.with_name("away"))
    spool.touch()
    turn = server.client.post(f"/sessions/{session}/send", {"text": "hello"}, waits=True)["turn_id"]

    ended = server.client.wait(f"/sessions/{session}/turns/{turn}?wait_seconds={BOUND_SECONDS}")
    assert (ended["outcome"], ended["source"], ended["final_text"]) == ("completed", "hook", "ECHO: hello")


def test_an_event_that_is_told_twice_under_its_name_counts_once(server: Server, session: str) -> None:
    ended, began = (
        json.dumps({"event": "turn_end", "outcome": "completed"}).encode(),
        json.dumps({"event": "prompt_accepted", "text": "mine"}).encode(),
    )
    for body, name in ((began, "1-1"), (ended, "2-1"), (began, "3-1"), (ended, "2-1")):
        assert hand(server, session, body, **{"X-Event-Name": name}) == 204
    (server.state.session(session) / "events" / "2-1.json").write_bytes(ended)
    assert hand(server, session, b"") == 204

    assert [turn["outcome"] for turn in turns(server, session)] == ["completed", None]
    assert not list((server.state.session(session) / "events").glob("*.json"))


@pytest.mark.parametrize("body", [b"nonsense", b"[1]", b"[" * 200_000, b"\xff"], ids=range(4))
def test_what_is_no_event_is_refused(shared_server: Server, shared_session: str, body: bytes) -> None:
    assert hand(shared_server, shared_session, body, **{"X-Event-Name": "1-1"}) == 400


def test_an_event_without_a_name_is_refused(shared_server: Server, shared_session: str) -> None:
    assert hand(shared_server, shared_session, b"{}") == 400
