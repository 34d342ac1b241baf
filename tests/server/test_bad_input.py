"""Whatever a caller sends, it gets one typed error, nothing starts, and the server lives on."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING, cast

import pytest

from mcp_agent.errors import RemoteError
from mcp_agent.processes import identify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.conftest import Server

TWENTY_MEBIBYTES = 20 << 20

ECHO = b'{"command": "echo hi"}'


def session_ids(server: Server) -> list[str]:
    sessions = cast("list[dict[str, str]]", server.client.get("/sessions")["sessions"])
    return [session["id"] for session in sessions]


@pytest.fixture
def server(shared_server: Server) -> Iterator[Server]:
    """After each test the server is the one of before, has no new session, and has written no traceback."""
    before, sessions = shared_server.pid, session_ids(shared_server)
    yield shared_server
    assert shared_server.pid == before
    assert session_ids(shared_server) == sessions
    assert "Traceback" not in shared_server.state.log.read_text()


@pytest.fixture
def session(shared_session: str) -> str:
    """The session that all tests here share, and that never makes a call."""
    return shared_session


@pytest.fixture
def own_session(shared_server: Server) -> str:
    return shared_server.start_session()


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"\xff\xfe",
        b"[]",
        b'"text"',
        b"null",
        b'{"command": NaN}',
        b'{"command": 1e999}',
        b'{"command": "\\ud800"}',
        b"[" * 100_000,
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b'{"command": ' + b"1" * 10_000 + b"}",
        b'{"command": "' + b"x" * TWENTY_MEBIBYTES + b'"}',
    ],
    ids=[
        "cut",
        "no-utf8",
        "list",
        "string",
        "null",
        "nan",
        "infinity",
        "surrogate",
        "deep",
        "deeper",
        "digits",
        "20MiB",
    ],
)
def test_a_body_that_is_no_arguments_object_is_a_bad_request(server: Server, session: str, body: bytes) -> None:
    answer = server.call(session, body)
    assert (answer["status"], answer["error"]["kind"]) in {(400, "BadRequest"), (400, "BadArguments")}
    assert "\n" not in answer["error"]["message"]
    assert len(answer["error"]["message"]) < 500
    assert server.calls(session) == []


@pytest.mark.parametrize(
    "call_id", [None, "", "_", "a" * 65, "../up", "a b", "a\xe9".encode("latin-1").decode("latin-1")]
)
def test_a_call_without_a_proper_call_id_is_a_bad_request(server: Server, session: str, call_id: str | None) -> None:
    token = server.token_of(session)
    headers = [] if call_id is None else [(b"X-Call-Id", call_id.encode("latin-1"))]
    path = f"/s/{session}/tools/virtual/execute_shell_command"
    headers.append((b"Authorization", f"Bearer {token}".encode()))
    response = server.ask("POST", path, token=None, headers=dict(headers), content=ECHO)
    assert (response.status_code, response.json()["error"]["kind"]) == (400, "BadRequest")
    assert server.calls(session) == []


def test_a_call_id_that_was_used_before_is_refused_and_runs_nothing(own_session: str, server: Server) -> None:
    assert server.call(own_session, ECHO)["status"] == 200
    again = server.call(own_session, ECHO)
    assert (again["status"], again["error"]["kind"]) == (409, "DuplicateCall")
    assert "call_1 was used before" in again["error"]["message"]
    assert len(server.calls(own_session)) == 1


@pytest.mark.parametrize("tool", ["nothing", "%2e%2e", "execute_shell_command%20", "💥"])
def test_an_unknown_tool_is_told_with_the_known_ones(server: Server, session: str, tool: str) -> None:
    answer = server.call(session, b"{}", tool=tool)
    assert (answer["status"], answer["error"]["kind"]) == (404, "UnknownTool")
    told = answer["error"]["message"].partition("this session has: ")[2].split(", ")
    assert {"execute_shell_command", "get_tool_call"} <= {*told}


def test_a_tool_is_not_found_under_another_category(server: Server, session: str) -> None:
    for path in ("custom/execute_shell_command", "mcp/a/execute_shell_command"):
        response = server.ask(
            "POST",
            f"/s/{session}/tools/{path}",
            token=server.token_of(session),
            headers={"X-Call-Id": "call_1"},
            content=ECHO,
        )
        assert response.json()["error"]["kind"] == "UnknownTool"
    assert server.calls(session) == []


def test_bad_arguments_are_named_all_at_once_and_nothing_is_started(server: Server, session: str) -> None:
    answer = server.call(
        session, json.dumps({"command": " ", "timeout_seconds": -1, "more": True}).encode(), call_id="call_bad"
    )
    assert (answer["status"], answer["error"]["kind"]) == (400, "BadArguments")
    message = answer["error"]["message"]
    assert "\n" not in message
    for problem in ("command", "timeout_seconds", "more", "the call was not started"):
        assert problem in message
    assert server.calls(session) == []
    assert not server.state.call("call_bad").exists()


def test_a_model_reads_the_same_words_through_the_bridge(server: Server, session: str) -> None:
    text = server.bridge(session).call("execute_shell_command", command="")
    assert text.startswith("ERROR: layer=server_tool")
    assert "the call was not started" in text


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"{", "not valid"),
        (b"[]", "not valid"),
        (b'{"provider": "scripted"}', "working_directory"),
        (b'{"provider": "scripted", "working_directory": "/tmp", "bypass": 1}', "bypass"),
        (b'{"provider": "nobody", "working_directory": "/tmp"}', "known: "),
        (b'{"provider": "scripted", "working_directory": "tmp"}', "is not an absolute path"),
        (b'{"provider": "scripted", "working_directory": "/nowhere"}', "does not exist"),
        (b'{"provider": "scripted", "working_directory": "/tmp\\u0000"}', "null byte"),
        (b'{"provider": "scripted", "working_directory": "/etc/passwd"}', "is not a directory"),
        (b'{"provider": "scripted", "working_directory": "/tmp", "environment": {"PATH": "/no"}}', "not installed"),
        (b'{"provider": "scripted", "working_directory": "/tmp", "tied_to": {"pid": "x"}}', "tied_to"),
        (b"[" * 100_000, "POST /sessions"),
    ],
)
def test_a_session_that_cannot_be_asked_for_is_refused_in_one_line(server: Server, body: bytes, word: str) -> None:
    headers = {"Content-Type": "application/json"}
    response = server.ask("POST", "/sessions", token=server.state.read_owner_token(), content=body, headers=headers)
    error = response.json()["error"]
    assert 400 <= response.status_code < 500
    assert word.lower() in error["message"].lower()
    assert "\n" not in error["message"]


def test_a_session_cannot_be_tied_to_a_process_that_is_not_there(server: Server) -> None:
    me = identify(os.getpid())
    assert me is not None
    for pid in (-5, 0, 2**70, me.pid + 2**22):
        with pytest.raises(RemoteError, match="tied_to"):
            server.start_session(tied_to={**me.to_json(), "pid": pid})


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "1e300", "x"])
def test_a_wait_that_is_no_time_is_refused(server: Server, session: str, seconds: str) -> None:
    with pytest.raises(RemoteError, match="wait_seconds"):
        server.client.wait(f"/sessions/{session}/turns/t-1?wait_seconds={seconds}")


def test_what_is_unknown_is_said_to_be_unknown(server: Server, session: str) -> None:
    for path, kind in (
        ("/sessions/s-0", "UnknownSession"),
        ("/sessions/..", "UnknownSession"),
        (f"/sessions/{session}/turns/t-0", "UsageError"),
        ("/nothing", "BadRequest"),
    ):
        with pytest.raises(RemoteError) as caught:
            server.client.get(path)
        assert caught.value.kind == kind


@pytest.mark.parametrize("text", ["", " \n", "\x1b[201~", "x\0y", "x" * (1024 * 1024 + 1)])
def test_a_prompt_that_cannot_be_sent_is_refused_and_nothing_is_typed(server: Server, session: str, text: str) -> None:
    with pytest.raises(RemoteError, match="nothing was sent"):
        server.client.post(f"/sessions/{session}/send", {"text": text}, waits=True)
    assert server.client.get(f"/sessions/{session}")["turns"] == []


@pytest.mark.contract("C1")
@pytest.mark.parametrize("sent", [b"POST", b"POST /s/{session}/tools/virtual/execute_shell_command HTTP/1.1\r\n"])
def test_a_client_that_leaves_in_the_middle_of_its_request_is_no_trouble(
    server: Server, session: str, sent: bytes
) -> None:
    head = sent.replace(b"{session}", session.encode())
    if head.endswith(b"\r\n"):
        head += b"Host: x\r\nX-Call-Id: call_1\r\nContent-Length: 1000\r\n"
        head += b"Authorization: Bearer " + server.token_of(session).encode() + b'\r\n\r\n{"command": '
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(server.state.server_socket))
        connection.sendall(head)
    assert server.client.get("/server")["running_calls"] == 0
    assert server.calls(session) == []
