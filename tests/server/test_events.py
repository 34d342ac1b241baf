"""What happened to sessions, from a cursor on: in pages, waited for, as a stream, and over a crash of the server."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import httpx
import pytest

from mcp_agent.errors import McpAgentError, RemoteError
from tests.server.conftest import BOUND_SECONDS, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.conftest import Json, Server

pytestmark = pytest.mark.contract("S7")


def page(server: Server, session: str, **query: object) -> Json:
    return server.client.get(f"/sessions/{session}/events", **{name: str(value) for name, value in query.items()})


def events(server: Server, session: str, **query: object) -> list[Json]:
    return cast("list[Json]", page(server, session, **query)["events"])


def kinds(found: list[Json]) -> list[str]:
    return [str(event["kind"]) for event in found]


def prompt(server: Server, session: str, text: str) -> str:
    """Send a prompt and wait for its end; the turn's id."""
    turn = server.client.post(f"/sessions/{session}/send", {"text": text}, waits=True)["turn_id"]
    ended = server.client.wait(f"/sessions/{session}/turns/{turn}?wait_seconds={BOUND_SECONDS}")
    assert ended["outcome"] == "completed"
    return str(turn)


@pytest.mark.contract("S3", "W1")
def test_a_turn_with_a_call_is_told_step_by_step(shared_server: Server) -> None:
    server = shared_server
    session = server.start_session(allow_tools=["execute_shell_command"])
    begun = page(server, session)["next"]
    turn = prompt(server, session, "run exactly this command: `echo hi`")

    eventually(lambda: server.client.get(f"/sessions/{session}")["state"] == "ready")
    found = events(server, session, after=begun)
    steps = [kind for kind in kinds(found) if kind.startswith(("turn.", "call."))]
    assert steps == ["turn.started", "call.started", "call.ended", "turn.ended"]
    by_kind = {event["kind"]: event["facts"] for event in found}
    assert by_kind["turn.started"]["turn_id"] == by_kind["turn.ended"]["turn_id"] == turn
    assert by_kind["turn.ended"]["outcome"] == "completed"
    assert (by_kind["call.ended"]["why"], by_kind["call.ended"]["happened"]) == ("result", "succeeded")
    states = [event["facts"]["state"] for event in found if event["kind"] == "session.state"]
    assert (states[0], states[-1]) == ("busy", "ready")
    assert [event["seq"] for event in found] == sorted({event["seq"] for event in found})


def test_a_waiting_reader_hears_of_the_next_event_and_of_no_other_session(shared_server: Server) -> None:
    server, session = shared_server, shared_server.start_session()
    other = server.start_session()
    cursor = page(server, session)["next"]
    path = f"/sessions/{session}/events?after={cursor}&wait_seconds={BOUND_SECONDS}"
    heard: list[Json] = []
    reader = threading.Thread(target=lambda: heard.append(server.client.wait(path)))
    reader.start()
    prompt(server, other, "hello")
    assert heard == []
    prompt(server, session, "hello")
    reader.join(BOUND_SECONDS)

    [answer] = heard
    assert {event["session_id"] for event in cast("list[Json]", answer["events"])} == {session}
    every = cast("list[Json]", server.client.get("/events", after="0", limit="1000")["events"])
    assert {event["session_id"] for event in every} >= {session, other}


def test_a_wait_in_which_nothing_happens_ends_with_an_empty_page(shared_server: Server) -> None:
    server, session = shared_server, shared_server.start_session()
    cursor = page(server, session)["next"]
    waited = page(server, session, after=cursor, wait_seconds=0.05)

    assert (waited["events"], waited["next"], waited["gap"], waited["over"]) == ([], cursor, False, False)


def test_a_session_that_is_over_is_told_to_its_end_and_then_said_to_be_over(shared_server: Server) -> None:
    server, session = shared_server, shared_server.start_session()
    server.client.post(f"/sessions/{session}/stop", waits=True)
    told = page(server, session)
    assert (kinds(cast("list[Json]", told["events"]))[-2:], told["over"]) == (
        ["session.state", "session.closed"],
        False,
    )

    assert page(server, session, after=told["next"], wait_seconds=BOUND_SECONDS * 10)["over"] is True


@pytest.mark.contract("S9")
def test_cursors_go_on_after_a_crash_and_for_sessions_that_were_stopped_before(server: Server, session: str) -> None:
    gone = server.start_session()
    server.client.post(f"/sessions/{gone}/stop", waits=True)
    before = events(server, session)
    server.crash()
    server.start_again()

    assert events(server, session)[: len(before)] == before
    after = events(server, session, after=before[-1]["seq"])
    assert kinds(after)[-1] == "session.adopted"
    assert after[-1]["facts"]["state"] == "ready"
    assert kinds(events(server, gone))[-1] == "session.closed"
    assert page(server, gone, after=after[-1]["seq"])["over"] is True


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=100000", "wait_seconds=nan"])
def test_a_question_that_makes_no_sense_is_refused(shared_server: Server, shared_session: str, query: str) -> None:
    with pytest.raises(RemoteError) as refused:
        shared_server.client.wait(f"/sessions/{shared_session}/events?{query}")

    assert (refused.value.kind, refused.value.remote_exit_code) == ("BadRequest", 2)


def test_a_cursor_from_the_future_and_an_unknown_session_are_refused(
    shared_server: Server, shared_session: str
) -> None:
    with pytest.raises(RemoteError, match="there is no event 99999 yet; the newest is"):
        page(shared_server, shared_session, after=99999)
    with pytest.raises(RemoteError, match="no session s-none"):
        page(shared_server, "s-none")


@pytest.mark.contract("A2")
def test_events_are_their_owners(shared_server: Server, shared_session: str) -> None:
    for token in (None, shared_server.token_of(shared_session)):
        for path in ("/events", f"/sessions/{shared_session}/events", f"/sessions/{shared_session}/turns"):
            assert shared_server.ask("GET", path, token=token).status_code == 403


@contextmanager
def stream(server: Server, path: str, **headers: str) -> Iterator[Iterator[str]]:
    """The lines of an event stream."""
    transport = httpx.HTTPTransport(uds=str(server.state.server_socket))
    token = server.state.read_owner_token()
    told = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream", **headers}
    with (
        httpx.Client(transport=transport, base_url="http://mcp-agent", timeout=BOUND_SECONDS) as http,
        http.stream("GET", path, headers=told) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield answer.iter_lines()


def data(line: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(line.removeprefix("data: ")))


def test_a_stream_tells_events_as_they_come_and_ends_with_the_session(shared_server: Server) -> None:
    server, session = shared_server, shared_server.start_session()
    cursor = page(server, session)["next"]
    with stream(server, f"/sessions/{session}/events?after={cursor}") as lines:
        turn = prompt(server, session, "hello")
        ended = next(data(line) for line in lines if line.startswith("data:") and '"turn.ended"' in line)
        assert ended["facts"]["turn_id"] == turn
        server.client.post(f"/sessions/{session}/stop", waits=True)
        rest = [data(line)["kind"] for line in lines if line.startswith("data:")]
    assert rest[-1] == "session.closed"


def test_a_stream_goes_on_from_the_last_event_that_was_seen(shared_server: Server) -> None:
    server, session = shared_server, shared_server.start_session()
    seen = events(server, session)[0]["seq"]
    with stream(server, f"/sessions/{session}/events", **{"Last-Event-ID": str(seen)}) as lines:
        first = next(line for line in lines if line.startswith("id:"))
    assert int(first.removeprefix("id: ")) > seen


def test_a_stream_and_a_wait_end_with_the_server(server: Server, session: str) -> None:
    refused: list[McpAgentError] = []

    def wait() -> None:
        try:
            server.client.wait(f"/events?after={cursor}&wait_seconds=1000")
        except McpAgentError as error:
            refused.append(error)

    cursor = server.client.get("/events", limit="1000")["next"]
    reader = threading.Thread(target=wait)
    with stream(server, f"/events?after={cursor}") as lines:
        reader.start()
        server.client.post("/server/stop")
        assert [line for line in lines if line.startswith("data:")] == []
    reader.join(BOUND_SECONDS)
    assert not reader.is_alive()
    server.client.wait_until_gone()
    assert [error.kind for error in refused] in (["ServerStopped"], ["ServerUnreachable"])


def test_a_reader_that_leaves_leaves_nothing_behind(shared_server: Server) -> None:
    server, session = shared_server, shared_server.start_session()
    for _ in range(20):
        with stream(server, f"/sessions/{session}/events?after=0") as lines:
            assert next(lines).startswith("id:")

    assert prompt(server, session, "hello")
