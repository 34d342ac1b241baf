"""What a person does to a turn reaches its tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.server.conftest import Server

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
