"""Which connection a request goes out on: one that the server keeps, if it surely listens there, or a new one."""

from __future__ import annotations

import socket
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from mcp_agent.bridge.loop import Loop
from mcp_agent.bridge.unix_http import Connection
from mcp_agent.server.lane import plain_call
from tests.bridge.conftest import BOUND_SECONDS, http

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from mcp_agent.bridge.loop import Wait
    from tests.bridge.conftest import Asked, Bridge, FakeServer

pytestmark = pytest.mark.contract("B2")

ANSWER = b'{"text": "hi", "structured": null}'
KEPT = b"keep-alive: timeout=30"


@pytest.fixture
def keeping(server: FakeServer) -> FakeServer:
    """The server, which promises to listen on after the answer to a call."""
    server.keeps_connections = True
    server.behaviours["echo"] = server.sends(http(200, ANSWER, KEPT))
    return server


def calls(bridge: Bridge, server: FakeServer, *tools: str) -> list[socket.socket]:
    """The connections that these calls, one after the other, were made on."""
    for number, tool in enumerate(tools):
        bridge.call(number, tool)
        assert bridge.text(number) in {"hi", "{}"}
    return [asked.connection for asked in server.calls()]


def test_calls_that_follow_each_other_share_the_connection_that_the_server_keeps(
    bridge: Bridge, keeping: FakeServer
) -> None:
    assert len(set(calls(bridge, keeping, "echo", "echo", "echo"))) == 1


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [b"connection: keep-alive"],
        [b"keep-alive: timeout=0"],
        [b"keep-alive: max=5"],
        [b"keep-alive: timeout=x"],
        [KEPT, b"connection: close"],
    ],
)
def test_a_connection_that_the_server_did_not_promise_to_keep_is_not_used_again(
    bridge: Bridge, keeping: FakeServer, headers: list[bytes]
) -> None:
    keeping.behaviours["echo"] = keeping.sends(http(200, ANSWER, *headers))
    assert len(set(calls(bridge, keeping, "echo", "echo"))) == 2


@pytest.mark.parametrize("more", [b"x", http(200, ANSWER)])
def test_a_connection_on_which_the_server_said_more_than_was_asked_is_not_used_again(
    bridge: Bridge, keeping: FakeServer, more: bytes
) -> None:
    keeping.behaviours["echo"] = keeping.sends(http(200, ANSWER, KEPT) + more)
    assert len(set(calls(bridge, keeping, "echo", "echo"))) == 2


def test_a_kept_connection_that_the_server_closed_meanwhile_costs_no_call(bridge: Bridge, keeping: FakeServer) -> None:
    [first] = calls(bridge, keeping, "echo")
    first.shutdown(socket.SHUT_RDWR)
    _, second = calls(bridge, keeping, "echo")
    assert first is not second


def test_calls_that_run_at_the_same_time_have_a_connection_each(bridge: Bridge, keeping: FakeServer) -> None:
    [first] = calls(bridge, keeping, "echo")
    bridge.call("slow", "slow")
    keeping.wait_for_calls(2)
    bridge.call(9, "echo")
    assert bridge.text(9) == "hi"
    connections = [asked.connection for asked in keeping.calls()]
    assert connections[1] is first
    assert connections[2] is not first


@pytest.mark.contract("C2")
def test_a_call_on_a_kept_connection_is_cancelled_by_closing_it(bridge: Bridge, keeping: FakeServer) -> None:
    calls(bridge, keeping, "echo")
    bridge.call("slow", "slow")
    slow = keeping.wait_for_calls(2)[1]
    bridge.send("notifications/cancelled", {"requestId": "slow"})
    assert slow.hung_up.wait(BOUND_SECONDS)
    assert bridge.lives()


def test_a_kept_connection_that_is_lost_with_a_request_on_it_is_unknown_and_nothing_is_sent_again(
    bridge: Bridge, keeping: FakeServer
) -> None:
    calls(bridge, keeping, "echo")

    def go_without_an_answer(asked: Asked) -> None:
        asked.connection.shutdown(socket.SHUT_RDWR)

    keeping.behaviours["echo"] = go_without_an_answer
    bridge.call(1, "echo")
    assert " outcome=unknown: " in bridge.text(1)
    assert len(keeping.calls()) == 2


def test_half_of_the_time_that_the_server_gave_is_left_unused(keeping: FakeServer) -> None:
    now = 100.0
    connection = Connection(str(keeping.path), clock=lambda: now)

    def ask() -> Generator[Wait, bool, None]:
        request = b"POST /s/s-1/tools/virtual/echo HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
        yield from connection.ask(request, time.monotonic() + BOUND_SECONDS)

    with closing(connection):
        Loop().run(ask())
        now = 114.9
        assert connection.is_usable()
        now = 115.1
        assert not connection.is_usable()


def test_what_the_bridge_sends_can_go_the_servers_short_way(short_tmp: Path, start: Callable[..., Bridge]) -> None:
    tools = b'{"tools": [{"name": "t", "category": "custom"}]}'
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(short_tmp / "own.sock"))
        listener.listen()
        listener.settimeout(BOUND_SECONDS)
        bridge = start(socket=str(short_tmp / "own.sock"))
        bridge.call(1, "t", text="ü")
        for answer in (tools, ANSWER):
            connection, _ = listener.accept()
            with connection:
                asked = connection.recv(65536)
                connection.sendall(http(200, answer))
    assert bridge.text(1) == "hi"
    call = plain_call(asked)
    assert call is not None
    assert (call.session, call.category, call.tool, call.body) == ("s-1", "custom", "t", b'{"text":"\\u00fc"}')
