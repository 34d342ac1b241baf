"""The short way to a tool: whole requests as the bridge writes them, and the same answers as on the long way."""

from __future__ import annotations

import itertools
import json
import re
import socket
from typing import TYPE_CHECKING, Any

import pytest

from mcp_agent.bridge.unix_http import encode_request
from mcp_agent.server.lane import MOST_BYTES_AHEAD, plain_call
from tests.server.conftest import BOUND_SECONDS, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.conftest import Server

SHELL = "execute_shell_command"
ECHO = b'{"command": "echo hi"}'
ODD = {"Odd": "1"}
"""A header that no bridge sends."""
NUMBERS = itertools.count(1)


def request(
    session: str = "s-1",
    token: str = "t",
    body: bytes = ECHO,
    *,
    tool: str = SHELL,
    call_id: str | None = None,
    more: dict[str, str] | None = None,
) -> bytes:
    """As the bridge writes it, but for the headers that are added. Every call has an id of its own."""
    own = {"X-Call-Id": call_id or f"call_{next(NUMBERS)}", "Content-Type": "application/json"}
    headers = {"Authorization": f"Bearer {token}", **own, **(more or {})}
    return encode_request("POST", f"/s/{session}/tools/virtual/{tool}", headers=headers, body=body)


class Client:
    """One connection to the server."""

    def __init__(self, server: Server) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(BOUND_SECONDS)
        self.socket.connect(str(server.state.server_socket))
        self._stream = self.socket.makefile("rb")

    def ask(self, data: bytes) -> dict[str, Any]:
        self.socket.sendall(data)
        return self.read()

    def read(self) -> dict[str, Any]:
        """The next answer, with the connection's headers."""
        status = int(self._stream.readline().split()[1])
        headers = dict(line.decode().strip().lower().split(": ", 1) for line in iter(self._stream.readline, b"\r\n"))
        body = json.loads(self._stream.read(int(headers["content-length"])))
        kept = {name: headers[name] for name in ("keep-alive", "connection") if name in headers}
        return {"status": status, "type": headers["content-type"], **kept, **body}

    def is_closed(self) -> bool:
        return self._stream.read(1) == b""

    def close(self) -> None:
        self._stream.close()
        self.socket.close()


@pytest.fixture
def client(shared_server: Server) -> Iterator[Client]:
    client = Client(shared_server)
    yield client
    client.close()


@pytest.fixture(scope="module")
def session(shared_server: Server) -> str:
    """A session of the shared server that calls tools, but lets none run on."""
    return shared_server.start_session()


def taken(answer: dict[str, Any]) -> bool:
    """Whether it came the short way, which alone says how long a connection is kept."""
    return "keep-alive" in answer


def test_what_the_bridge_writes_is_a_plain_call() -> None:
    call = plain_call(request(body=b'{"a": "\xc3\xbc"}', call_id="call_1"))
    assert call is not None
    assert (call.session, call.category, call.tool, call.call_id) == ("s-1", "virtual", SHELL, "call_1")
    assert (call.authorization, call.body) == ("Bearer t", b'{"a": "\xc3\xbc"}')


PLAIN = request()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        PLAIN[:20],
        PLAIN[:-1],
        PLAIN + b"x",
        PLAIN + PLAIN,
        b"\r\n" + PLAIN,
        PLAIN.replace(b"POST", b"PUT"),
        PLAIN.replace(b"HTTP/1.1", b"HTTP/1.0"),
        PLAIN.replace(b"/s/", b"/S/"),
        PLAIN.replace(b"virtual", b"mcp"),
        PLAIN.replace(b"virtual", b"virtual/more"),
        PLAIN.replace(SHELL.encode(), b"a%20b"),
        PLAIN.replace(SHELL.encode(), b"a?b=c"),
        PLAIN.replace(SHELL.encode(), b""),
        PLAIN.replace(b"Bearer t", b"Bearer \xe9"),
        PLAIN.replace(b"call_", b"call "),
        PLAIN.replace(b"Content-Length: 22", b"Content-Length: -22"),
        PLAIN.replace(b"Content-Length: 22", b"Content-Length: " + b"9" * 5000),
        PLAIN.replace(b"Content-Length: 22", b"Transfer-Encoding: chunked"),
        PLAIN.replace(b"Host: mcp-agent\r\n", b""),
        request(more={"Expect": "100-continue"}),
        request(more={"Connection": "close"}),
    ],
)
def test_anything_else_is_left_to_the_long_way(data: bytes) -> None:
    assert plain_call(data) is None


@pytest.mark.contract("B2", "A2")
@pytest.mark.parametrize(
    ("body", "tool", "good_token", "status"),
    [
        (ECHO, SHELL, True, 200),
        (b"", SHELL, True, 400),
        (b"{", SHELL, True, 400),
        (b"[]", SHELL, True, 400),
        (b'{"command": NaN}', SHELL, True, 400),
        (b'{"command": "\\ud800"}', SHELL, True, 400),
        (b"[" * 10_000, SHELL, True, 400),
        (b"{}", SHELL, True, 400),
        (ECHO, "nothing", True, 404),
        (ECHO, SHELL, False, 403),
    ],
)
def test_both_ways_answer_alike(
    shared_server: Server, session: str, client: Client, body: bytes, tool: str, good_token: bool, status: int
) -> None:
    token = shared_server.token_of(session) if good_token else "wrong"
    short = client.ask(request(session, token, body, tool=tool))
    other = client.ask(request(session, token, body, tool=tool, more=ODD))

    assert (taken(short), taken(other)) == (True, False)
    assert short["status"] == other["status"] == status
    assert without_what_differs(short) == without_what_differs(other)


def without_what_differs(answer: dict[str, Any]) -> str:
    text = json.dumps({name: value for name, value in answer.items() if name != "keep-alive"})
    return re.sub(r"call_\d+|elapsed_seconds\W+[\d.]+", "", text)


def test_a_call_id_that_was_used_before_is_refused(shared_server: Server, session: str, client: Client) -> None:
    token = shared_server.token_of(session)
    first, second = (client.ask(request(session, token, call_id="call_again")) for _ in range(2))
    assert (first["status"], second["status"], second["error"]["kind"]) == (200, 409, "DuplicateCall")
    assert taken(second)


def test_one_connection_serves_calls_of_both_ways_in_turns(shared_server: Server, session: str, client: Client) -> None:
    token = shared_server.token_of(session)
    answers = [client.ask(request(session, token, more=ODD if odd else None)) for odd in (False, True, False, True)]
    assert [taken(answer) for answer in answers] == [True, False, True, False]
    assert all(answer["structured"]["stdout"] == "hi\n" for answer in answers)


def test_a_request_in_pieces_is_answered_the_long_way(shared_server: Server, session: str, client: Client) -> None:
    data = request(session, shared_server.token_of(session))
    before = request(session, "wrong")
    assert client.ask(before)["status"] == 403
    client.socket.sendall(data[:50])
    assert shared_server.client.get("/server")["running_calls"] == 0
    answer = client.ask(data[50:])
    assert (answer["status"], taken(answer)) == (200, False)
    assert taken(client.ask(before))


def test_requests_that_are_sent_ahead_are_answered_in_their_order(
    shared_server: Server, session: str, client: Client
) -> None:
    token = shared_server.token_of(session)
    slow = request(session, token, b'{"command": "read x < ready; echo slow"}', call_id="call_slow")
    fifo = shared_server.work / "ready"
    shared_server.call(session, b'{"command": "mkfifo ready"}', call_id="call_make")
    client.socket.sendall(slow)
    shared_server.running_call(session)
    client.socket.sendall(request(session, token, call_id="call_second"))
    client.socket.sendall(request(session, token, call_id="call_third"))
    with fifo.open("w") as file:
        file.write("go\n")
    assert [client.read()["call_id"] for _ in range(3)] == ["call_slow", "call_second", "call_third"]
    fifo.unlink()


@pytest.mark.contract("C1", "C3")
@pytest.mark.parametrize("goes", ["closes", "only stops sending", "sends too much ahead"])
def test_a_client_that_goes_takes_its_call_with_it(shared_server: Server, session: str, goes: str) -> None:
    client = Client(shared_server)
    client.socket.sendall(request(session, shared_server.token_of(session), b'{"command": "sleep 600"}'))
    call_id = shared_server.running_call(session)
    match goes:
        case "closes":
            client.close()
        case "only stops sending":
            client.socket.shutdown(socket.SHUT_WR)
        case _:
            client.socket.sendall(b"x" * (MOST_BYTES_AHEAD + 1))
    eventually(lambda: shared_server.show(call_id)["ended_at"])
    eventually(lambda: shared_server.show(call_id)["happened"] == "cancelled")
    assert shared_server.show(call_id)["why_ended"] == "cancel"
    client.close()


@pytest.mark.contract("C5")
def test_a_server_that_stops_answers_its_calls_and_closes_their_connections(server: Server) -> None:
    session = server.start_session()
    client, idle = Client(server), Client(server)
    client.socket.sendall(request(session, server.token_of(session), b'{"command": "sleep 600"}'))
    assert idle.ask(request(session, "wrong"))["status"] == 403
    server.running_call(session)
    server.client.post("/server/stop?now=true", waits=True)
    answer = client.read()
    assert "layer=cancel" in answer["text"]
    assert client.is_closed()
    assert idle.is_closed()
    for each in (client, idle):
        each.close()
    server.client.wait_until_gone()
    server.start_again()
