"""What the owner can ask and decide about tool calls over HTTP."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from mcp_agent.errors import RemoteError
from tests.server.conftest import processes_of_call

if TYPE_CHECKING:
    from tests.server.conftest import Bridge, Server

ECHO = b'{"command": "echo one"}'


@pytest.fixture
def bridge(server: Server, session: str) -> Bridge:
    return server.bridge(session)


@pytest.mark.contract("C1", "T9")
def test_the_owner_cancels_a_running_call(server: Server, session: str, bridge: Bridge) -> None:
    bridge.begin("execute_shell_command", command="sleep 600")
    call_id = server.running_call(session)
    done = server.client.delete(f"/calls/{call_id}")
    assert (done["cancelled"], done["why_ended"], done["happened"]) == (True, "cancel", "cancelled")
    assert processes_of_call(call_id) == []
    assert bridge.read()["result"]["content"][0]["text"].startswith("CANCELED: layer=cancel owner=owner")
    again = server.client.delete(f"/calls/{call_id}")
    assert (again["cancelled"], again["happened"]) == (False, "cancelled")


@pytest.mark.contract("W1")
def test_output_is_a_sign_of_progress(server: Server, session: str, bridge: Bridge) -> None:
    bridge.begin("execute_shell_command", command="echo begun; sleep 600")
    call_id = server.running_call(session)
    waited: Any = server.client.wait(f"/calls/{call_id}?wait_seconds=0.5")
    assert waited["started_at"] <= waited["last_progress_at"]
    assert waited["next_limit"]["layer"] == "tool_wait"
    assert waited["output"] == {"stdout": 6, "stderr": 0}


def test_waiting_for_a_call_returns_when_it_has_ended(server: Server, session: str, bridge: Bridge) -> None:
    bridge.begin("execute_shell_command", command="sleep 600")
    call_id = server.running_call(session)
    got: list[object] = []
    waiting = threading.Thread(
        target=lambda: got.append(server.client.wait(f"/calls/{call_id}?wait_seconds=600")["happened"])
    )
    waiting.start()
    server.client.delete(f"/calls/{call_id}")
    waiting.join(timeout=30)
    assert got == ["cancelled"]


def test_a_call_that_is_still_waited_for_is_not_decided_about(server: Server, session: str, bridge: Bridge) -> None:
    bridge.begin("execute_shell_command", command="sleep 600")
    call_id = server.running_call(session)
    with pytest.raises(RemoteError, match="still runs; wait for it, or cancel it"):
        server.client.post(f"/calls/{call_id}/resolve", {"happened": False})


@pytest.mark.contract("W8")
def test_the_owner_decides_nothing_about_an_outcome_that_was_observed(server: Server, session: str) -> None:
    server.call(session, ECHO)
    with pytest.raises(RemoteError, match=r"call_1 was observed: it succeeded; nothing was changed"):
        server.client.post("/calls/call_1/resolve", {"happened": False, "note": "I looked"})
    shown: Any = server.client.get("/calls/call_1")
    assert (shown["happened"], shown["resolution"], shown["contradictions"]) == ("succeeded", None, [])


@pytest.mark.contract("C3")
def test_a_stop_now_ends_what_a_command_called_by_hand_left_running(server: Server) -> None:
    answer = server.client.call_tool(
        f"/tools/virtual/execute_shell_command?working_directory={server.work}",
        {"command": "sleep 600 & echo begun"},
        call_id="call_by_hand",
    )
    assert "begun" in str(answer["text"])
    assert len(processes_of_call("call_by_hand")) > 1
    server.client.post("/server/stop?now=true", waits=True)
    assert processes_of_call("call_by_hand") == []


def test_pruning_forgets_ended_calls_with_their_outputs(server: Server, session: str) -> None:
    server.call(session, ECHO)
    directory = server.state.call("call_1")
    assert directory.is_dir()
    assert server.client.post("/calls/prune?days=1", waits=True) == {"forgotten": 0}
    assert server.client.post("/calls/prune?days=0", waits=True) == {"forgotten": 1}
    assert not directory.exists()
    assert server.calls(session) == []


@pytest.mark.contract("W6", "B5")
def test_the_ledger_and_the_outputs_are_private(server: Server, session: str) -> None:
    server.call(session, ECHO)
    private = [server.state.ledger, *server.state.call("call_1").iterdir(), server.state.log]
    assert [path.name for path in private if path.stat().st_mode & 0o077] == []
    assert server.state.call("call_1").stat().st_mode & 0o077 == 0


@pytest.mark.contract("B5", "W10")
def test_an_output_of_a_mebibyte_is_read_to_its_end_by_pages(server: Server, session: str, bridge: Bridge) -> None:
    shown = json.loads(bridge.call("execute_shell_command", command="yes 'zwölf 🙂' | head -c 1048576"))
    assert shown["stdout_omitted_bytes"] > 0
    (call,) = server.calls(session)
    whole, offset = "", 0
    while offset is not None:
        page = json.loads(bridge.call("get_tool_output", call_id=call["call_id"], stream="stdout", offset=offset))
        whole, offset = whole + page["text"], page["next_offset"]
    assert page["total_bytes"] == 1048576
    assert whole.encode()[:1_048_560] == ("zwölf 🙂\n".encode() * 90_000)[:1_048_560]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("call_id", ["call_none", "%2e%2e", "a%00b", "💥", "x" * 2000])
def test_an_unknown_call_is_told_with_where_to_look(server: Server, method: str, call_id: str) -> None:
    response = server.ask(method, f"/calls/{call_id}", token=server.state.read_owner_token())
    assert (response.status_code, response.json()["error"]["kind"]) == (404, "UnknownCall")


@pytest.mark.contract("A2")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", path) for path in ("/calls", "/calls/x", "/tools", "/openapi.json")),
        *(("POST", path) for path in ("/calls/prune?days=1", "/tools/virtual/execute_shell_command")),
        ("DELETE", "/calls/x"),
    ],
)
def test_a_sessions_token_is_no_owners(server: Server, session: str, method: str, path: str) -> None:
    for token in (server.token_of(session), "", None):
        assert server.ask(method, path, token=token).status_code == 403


def test_the_description_of_the_api_lists_every_route(server: Server) -> None:
    described = server.ask("GET", "/openapi.json", token=server.state.read_owner_token()).json()["paths"]
    assert {
        *("/server", "/server/stop", "/openapi.json", "/sessions", "/sessions/{session_id}", "/tools"),
        *("/sessions/{session_id}/send", "/sessions/{session_id}/interrupt", "/sessions/{session_id}/stop"),
        *("/sessions/{session_id}/turns/{turn_id}", "/calls", "/calls/prune", "/calls/{call_id}"),
        *("/calls/{call_id}/resolve", "/tools/{category}/{tool}", "/s/{session}/tools", "/s/{session}/events"),
        *("/s/{session}/tools/virtual/{tool}", "/s/{session}/tools/custom/{tool}"),
        "/s/{session}/tools/mcp/{server}/{tool}",
    } <= described.keys()


@pytest.mark.contract("S9")
def test_a_server_that_is_stopped_now_cancels_calls_by_hand_too(server: Server) -> None:
    path, texts = "/tools/virtual/execute_shell_command", list[object]()

    def call() -> None:
        texts.append(server.client.call_tool(path, {"command": "sleep 600"}, call_id="call_by_hand")["text"])

    by_hand = threading.Thread(target=call)
    by_hand.start()
    assert server.running_call("owner") == "call_by_hand"
    server.client.post("/server/stop?now=true", waits=True)
    by_hand.join(timeout=30)
    assert str(texts[0]).startswith("CANCELED: layer=cancel owner=server")
    assert processes_of_call("call_by_hand") == []
