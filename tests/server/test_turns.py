"""What becomes of turns: over restarts of the server, and when a person interrupts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from mcp_agent.errors import RemoteError
from tests.server.conftest import BOUND_SECONDS

if TYPE_CHECKING:
    from tests.server.conftest import Json, Server

ECHO = b'{"command": "echo one"}'


@pytest.mark.contract("W4")
def test_after_an_interrupt_calls_are_refused_until_the_next_prompt(server: Server) -> None:
    session = server.start_session(allow_tools=["execute_shell_command"])
    send = f"/sessions/{session}/send"
    server.client.post(send, {"text": "run exactly this command: `sleep 600`"}, waits=True)
    server.running_call(session)
    assert server.client.post(f"/sessions/{session}/interrupt", waits=True) == {"interrupted": True}

    refused = server.call(session, ECHO, call_id="call_late")
    assert (refused["status"], refused["error"]["kind"]) == (409, "TurnAborted")
    assert "execute_shell_command was not started" in refused["error"]["message"]
    assert "call_late" not in [call["call_id"] for call in server.calls(session)]
    assert "was not started: the turn" in server.bridge(session).call("execute_shell_command", command="true")

    server.client.post(send, {"text": "hello"}, waits=True)
    assert server.call(session, ECHO, call_id="call_again")["status"] == 200


@pytest.mark.contract("A2")
def test_a_session_has_the_tools_it_was_started_with_and_no_others(server: Server) -> None:
    session = server.start_session(tools=["get_tool_call", "list_tool_calls"])
    path = f"/s/{session}/tools"
    listed = server.ask("GET", path, token=server.token_of(session)).json()["tools"]
    assert {tool["name"] for tool in listed} == {"get_tool_call", "list_tool_calls"}
    refused = server.call(session, ECHO)
    assert (refused["status"], refused["error"]["kind"]) == (404, "UnknownTool")
    assert server.calls(session) == []


def begin(server: Server, session: str, text: str) -> str:
    """The id of the turn that this prompt began."""
    return str(server.client.post(f"/sessions/{session}/send", {"text": text}, waits=True)["turn_id"])


def wait(server: Server, session: str, turn: str) -> Json:
    return server.client.wait(f"/sessions/{session}/turns/{turn}?wait_seconds={BOUND_SECONDS}")


def turns(server: Server, session: str) -> list[Json]:
    return cast("list[Json]", server.client.get(f"/sessions/{session}/turns")["turns"])


@pytest.mark.contract("S3", "S7", "S9")
@pytest.mark.parametrize("crash", [True, False])
def test_a_turn_goes_on_over_a_restart_and_ends_once_under_its_id(server: Server, crash: bool) -> None:
    session = server.start_session()
    over = begin(server, session, "hello")
    before = wait(server, session, over)
    running = begin(server, session, "run exactly this command: `true`")
    waiting = f"/sessions/{session}/turns/{running}?wait_seconds={BOUND_SECONDS}&until_waiting=true"
    assert server.client.wait(waiting)["session_state"] == "waiting"
    if crash:
        server.crash()
    else:
        server.client.post("/server/stop")
        server.client.wait_until_gone()
    server.start_again()

    assert wait(server, session, over) == {**before, "session_state": "waiting", "session_detail": "permission"}
    still = server.client.wait(waiting)
    assert (still["id"], still["outcome"]) == (running, None)
    server.client.post(f"/sessions/{session}/interrupt", waits=True)
    ended = wait(server, session, running)
    assert (ended["outcome"], ended["reason"]) == ("interrupted", "person")
    assert [turn["id"] for turn in turns(server, session)] == [over, running]


@pytest.mark.contract("S3", "S9")
def test_turns_of_a_session_that_was_stopped_before_are_still_told(server: Server, session: str) -> None:
    turn = begin(server, session, "hello")
    before = wait(server, session, turn)
    server.client.post(f"/sessions/{session}/stop", waits=True)
    server.crash()
    server.start_again()

    assert wait(server, session, turn) == {**before, "session_state": "stopped"}
    assert [found["id"] for found in turns(server, session)] == [turn]
    with pytest.raises(RemoteError, match=f"session {session} has no turn t-none"):
        wait(server, session, "t-none")
    for path in ("/sessions/s-none/turns", "/sessions/s-none/turns/t-none"):
        with pytest.raises(RemoteError, match="no session s-none"):
            server.client.get(path)


@pytest.mark.contract("S3")
def test_a_turn_says_how_it_was_submitted_and_how_it_ended(server: Server) -> None:
    session = server.start_session(allow_tools=["execute_shell_command"])
    turn = begin(server, session, "run exactly this command: `sleep 600`")
    server.running_call(session)
    assert begin(server, session, "and this") == turn
    server.client.post(f"/sessions/{session}/interrupt", waits=True)

    ended = wait(server, session, turn)
    assert (ended["submission"], ended["live_inputs"]) == ("delivered", ["and this"])
    assert (ended["outcome"], ended["reason"]) == ("interrupted", "person")
    assert cast("float", ended["ended_at"]) >= cast("float", ended["started_at"])
