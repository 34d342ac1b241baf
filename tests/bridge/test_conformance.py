"""One conversation of the official client with the bridge, at every protocol version that the client speaks."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest
from mcp import Client, ClientSession, StdioServerParameters, stdio_client
from mcp_types import (
    ClientCapabilities,
    Implementation,
    InitializedNotification,
    InitializeRequest,
    InitializeRequestParams,
    InitializeResult,
    TextContent,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

from mcp_agent.bridge import BRIDGE_PROGRAM
from mcp_agent.bridge.dispatch import PROTOCOL_VERSIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.bridge.conftest import Asked, Bridge, FakeServer

pytestmark = [pytest.mark.anyio, pytest.mark.contract("B1")]


@pytest.fixture(params=HANDSHAKE_PROTOCOL_VERSIONS)
async def session(
    request: pytest.FixtureRequest, server: FakeServer, session_file: Callable[..., Path]
) -> AsyncIterator[ClientSession]:
    """The official client's session, initialized at one version."""
    async with opened(session_file(progress_seconds=0.05)) as session:
        assert await initialize(session, request.param) == request.param
        yield session


@asynccontextmanager
async def opened(session_file: Path) -> AsyncIterator[ClientSession]:
    program = StdioServerParameters(command=sys.executable, args=["-I", str(BRIDGE_PROGRAM), str(session_file)])
    with anyio.fail_after(60):
        async with stdio_client(program) as streams, ClientSession(*streams) as session:
            yield session


async def initialize(session: ClientSession, version: str) -> str:
    """The client's own handshake offers its newest version only; the answer says which one it is to be."""
    me = Implementation(name="conformance", version="1")
    params = InitializeRequestParams(protocol_version=version, capabilities=ClientCapabilities(), client_info=me)
    result = await session.send_request(InitializeRequest(params=params), InitializeResult)
    session.adopt(result)
    await session.send_notification(InitializedNotification())
    return result.protocol_version


def test_the_bridge_knows_every_version_that_is_agreed_on_by_a_handshake() -> None:
    assert PROTOCOL_VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS


async def test_it_answers_pings(session: ClientSession) -> None:
    assert await session.send_ping()


@pytest.mark.contract("B3")
async def test_it_lists_the_servers_tools(session: ClientSession) -> None:
    listed = await session.list_tools()

    assert [tool.name for tool in listed.tools] == ["echo", "slow", "patient"]
    assert listed.next_cursor is None


async def test_it_calls_a_tool(session: ClientSession, server: FakeServer) -> None:
    server.behaviours["echo"] = server.answers({"text": "hello", "structured": {"greeting": "hello"}})

    result = await session.call_tool("echo", {"a": 1})

    assert result.content == [TextContent(type="text", text="hello")]
    assert result.structured_content == {"greeting": "hello"}
    assert server.calls()[0].body == b'{"a":1}'


@pytest.mark.contract("B2")
async def test_it_answers_everything_while_a_call_runs(session: ClientSession, server: FakeServer) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.call_tool, "slow", {})
        await anyio.to_thread.run_sync(server.wait_for_calls, 1)

        assert await session.send_ping()
        assert (await session.list_tools()).tools
        assert (await session.call_tool("echo", {})).content
        tasks.cancel_scope.cancel()


@pytest.mark.contract("C2")
async def test_it_cancels_a_call(session: ClientSession, server: FakeServer) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(session.call_tool, "slow", {})
        [call] = await anyio.to_thread.run_sync(server.wait_for_calls, 1)
        tasks.cancel_scope.cancel()

    assert await anyio.to_thread.run_sync(call.hung_up.wait, 20)
    assert await session.send_ping()


@pytest.mark.contract("T5")
async def test_it_hears_of_progress(session: ClientSession, server: FakeServer) -> None:
    seen: list[float] = []
    enough = anyio.Event()
    loop = anyio.lowlevel.current_token()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)
        if len(seen) == 2:
            enough.set()

    def answer_in_the_end(asked: Asked) -> None:
        anyio.from_thread.run(enough.wait, token=loop)
        server.answers({"text": "done", "structured": None})(asked)

    server.behaviours["echo"] = answer_in_the_end
    await session.call_tool("echo", {}, progress_callback=note)

    assert seen[:2] == [1, 2]


async def test_the_newest_client_finds_a_version_that_both_speak(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    program = StdioServerParameters(command=sys.executable, args=["-I", str(BRIDGE_PROGRAM), str(session_file())])
    with anyio.fail_after(60):
        async with Client(stdio_client(program), mode="auto") as client:
            assert client.protocol_version == LATEST_HANDSHAKE_VERSION
            assert (await client.call_tool("echo", {})).content


@pytest.mark.parametrize("version", [*KNOWN_PROTOCOL_VERSIONS, "1999-01-01"])
def test_every_offer_is_answered_with_a_version_that_the_client_may_accept(bridge: Bridge, version: str) -> None:
    """Of a version without a handshake, too: whoever offers it is told of the newest one with it."""
    asked = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    answered = bridge.ask("initialize", asked)["result"]["protocolVersion"]

    assert answered == (version if version in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION)


EXACT = [b"0", b"-0", b"7", b"9007199254740993", b'""', b'"0"', b'"7"', b'"t\\u00fc"']


@pytest.mark.contract("T5")
@pytest.mark.parametrize("token", EXACT)
def test_a_progress_token_comes_back_as_it_was_a_number_or_a_text(
    server: FakeServer, start: Callable[..., Bridge], token: bytes
) -> None:
    bridge = start(progress_seconds=0.02)
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","_meta":{"progressToken":%s}}}'
    bridge.write(call % token)

    assert bridge.wait_until(lambda: b"progressToken" in b"".join(bridge.raw))
    [line, *_] = bridge.raw
    assert b'"progressToken":%s,' % plain(token) in line


@pytest.mark.contract("B3")
@pytest.mark.parametrize("request_id", EXACT)
def test_an_id_comes_back_as_it_was_a_number_or_a_text(bridge: Bridge, request_id: bytes) -> None:
    bridge.write(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % request_id)

    assert bridge.wait_until(lambda: bool(bridge.raw))
    assert b'"id":%s,' % plain(request_id) in bridge.raw[0]


def plain(token: bytes) -> bytes:
    """The token as the bridge writes it: the same value, in its shortest form."""
    return {b"-0": b"0", b'"t\\u00fc"': '"tü"'.encode()}.get(token, token)


@pytest.mark.contract("C2", "B3")
def test_a_number_and_the_same_as_text_are_two_calls(server: FakeServer, bridge: Bridge) -> None:
    bridge.call(1, "slow")
    bridge.call("1", "patient")
    server.wait_for_calls(2)
    bridge.send("notifications/cancelled", {"requestId": "1"})

    assert server.wait_until(lambda: any(call.hung_up.is_set() for call in server.calls()))
    assert [call.path.rpartition("/")[2] for call in server.calls() if call.hung_up.is_set()] == ["patient"]
