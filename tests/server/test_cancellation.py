"""A caller that goes away takes its work with it: over HTTP on every route, and through the real bridge."""

from __future__ import annotations

import json
import signal
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import pytest
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_agent.config import Config
from mcp_agent.server.app import create_app
from mcp_agent.server.lane import LaneProtocol
from mcp_agent.server.runtime import Runtime
from mcp_agent.sessions.record import SessionOptions
from mcp_agent.state import StateDirectory
from mcp_agent.tools.tool import CallContext, Category, ToolResult, Verdict
from tests.server.conftest import BOUND_SECONDS, eventually, processes_of_call

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from anyio.abc import SocketStream

    from tests.server.conftest import Bridge, Server


@dataclass
class Hanging:
    """A tool that hangs until it is cancelled, and takes a moment to clean up."""

    name: str
    category: Category
    description: str = "Hangs."
    long_running: bool = True
    annotations: Mapping[str, object] = field(default_factory=dict)
    input_schema: Mapping[str, object] = field(default_factory=dict)
    read_only: bool = False
    idempotent: bool = False
    began: anyio.Event = field(default_factory=anyio.Event)
    cleaned_up: anyio.Event = field(default_factory=anyio.Event)

    def validate(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        return arguments

    def wait_limit(self, arguments: object) -> timedelta | None:
        return None

    async def run(self, context: CallContext, arguments: object) -> ToolResult:
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            self.cleaned_up.set()
        raise AssertionError("it sleeps for ever")

    async def check(self, call_id: str, context: CallContext, arguments: object) -> Verdict:
        return Verdict("cannot_tell")


@dataclass
class Here:
    """A server in this process, and the one session of it."""

    runtime: Runtime
    session: str
    token: str
    tools: dict[str, Hanging]
    server: uvicorn.Server

    async def post(self, path: str, *, announced: int | None = None) -> SocketStream:
        """Send one call on a connection of its own; `announced` is a length that the body does not have yet."""
        body = b'{"word": "x"}'
        stream = await anyio.connect_unix(str(self.runtime.state.server_socket))
        head = [
            f"POST /s/{self.session}/tools/{path} HTTP/1.1",
            "Host: mcp-agent",
            f"Content-Length: {announced or len(body)}",
            f"Authorization: Bearer {self.token}",
            "X-Call-Id: call_1",
            "Content-Type: application/json",
        ]
        await stream.send("\r\n".join([*head, "", ""]).encode() + body)
        return stream


@asynccontextmanager
async def serving(runtime: Runtime, way: str) -> AsyncIterator[uvicorn.Server]:
    http: Any = partial(LaneProtocol, runtime=runtime) if way == "short" else HttpToolsProtocol
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime.state.server_socket))
        config = uvicorn.Config(create_app(runtime), http=http, ws="none", lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve, [listener])
            yield server
            server.should_exit = True


@pytest.fixture(params=["short", "long"])
async def here(short_tmp: Path, request: pytest.FixtureRequest) -> AsyncIterator[Here]:
    """On the short way, where a call has one, or the long one for all."""
    state = StateDirectory(short_tmp / "home")
    state.create()
    tools = {
        tool.name: tool for tool in (Hanging("hang", "virtual"), Hanging("own", "custom"), Hanging("far/hang", "mcp"))
    }
    async with Runtime.open(state, Config()) as runtime, serving(runtime, request.param) as server:
        known: dict[str, Any] = dict(tools)
        runtime.dispatcher.tools = known
        options = SessionOptions("scripted", short_tmp, {"PATH": "/usr/bin:/bin", "HOME": str(short_tmp)}, trust=True)
        session = await runtime.sessions.start(options)
        yield Here(runtime, session.id, session.token, tools, server)
        await runtime.sessions.stop_all()


ROUTES = [("virtual/hang", "hang"), ("custom/own", "own"), ("mcp/far/hang", "far/hang")]


@pytest.mark.anyio
@pytest.mark.contract("C1")
@pytest.mark.parametrize(("path", "name"), ROUTES, ids=["virtual", "custom", "mcp"])
async def test_a_closed_request_cancels_its_handler_on_every_route(here: Here, path: str, name: str) -> None:
    tool = here.tools[name]
    with anyio.fail_after(BOUND_SECONDS):
        async with await here.post(path):
            await tool.began.wait()
        await tool.cleaned_up.wait()
        await anyio.to_thread.run_sync(eventually, lambda: here.runtime.ledger.list()[0].ended_at)
    calls = here.runtime.ledger.list()
    assert [(call.tool, call.why, call.happened) for call in calls] == [(name, "cancel", "cancelled")]


@pytest.mark.anyio
@pytest.mark.contract("C1")
@pytest.mark.parametrize(("path", "name"), ROUTES, ids=["virtual", "custom", "mcp"])
async def test_no_handler_starts_before_its_whole_body_came(here: Here, path: str, name: str) -> None:
    with anyio.fail_after(BOUND_SECONDS):
        async with await here.post(path, announced=1000):
            pass
        async with await here.post(path):
            await here.tools[name].began.wait()
    assert len(here.runtime.ledger.list()) == 1


@pytest.mark.anyio
@pytest.mark.contract("C5")
async def test_a_call_that_outlasts_its_server_is_answered_before_the_connection_ends(here: Here) -> None:
    with anyio.fail_after(BOUND_SECONDS):
        async with await here.post("custom/own") as stream:
            await here.tools["own"].began.wait()
            here.server.should_exit = True
            await anyio.to_thread.run_sync(eventually, lambda: not here.server.servers[0].is_serving())
            await here.runtime.running.cancel("call_1")
            answer = b"".join([data async for data in stream])
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    assert "layer=cancel" in json.loads(body)["text"]


@pytest.mark.anyio
@pytest.mark.contract("C1", "C5")
async def test_one_closed_request_leaves_the_calls_beside_it_alone(here: Here) -> None:
    with anyio.fail_after(BOUND_SECONDS):
        async with await here.post("custom/own"):
            await here.tools["own"].began.wait()
            assert await here.runtime.sessions.stop(here.session) == 1
        assert here.tools["own"].cleaned_up.is_set()
    assert not here.tools["hang"].began.is_set()


@pytest.fixture
def bridge(server: Server, session: str) -> Bridge:
    return server.bridge(session)


def assert_cancelled(server: Server, session: str, call_id: str) -> None:
    eventually(lambda: not processes_of_call(call_id))
    eventually(lambda: all(call["ended_at"] for call in server.calls(session)))
    (call,) = server.calls(session)
    assert (call["call_id"], call["why_ended"], call["happened"]) == (call_id, "cancel", "cancelled")
    assert server.client.get("/server")["running_calls"] == 0
    assert f"layer=cancel owner=caller tool=execute_shell_command session={session}" in server.state.log.read_text()


HOSTILE = "(setsid sleep 600 &) ; (trap '' TERM HUP; sleep 600 & wait) & sleep 600"


@pytest.mark.contract("C1", "C3")
def test_a_closed_request_ends_a_shell_command_and_all_it_started(server: Server, session: str) -> None:
    body = json.dumps({"command": HOSTILE}).encode()
    head = [
        f"POST /s/{session}/tools/virtual/execute_shell_command HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {server.token_of(session)}",
        "X-Call-Id: call_1",
        f"Content-Length: {len(body)}",
    ]
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(server.state.server_socket))
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
        call_id = server.running_call(session)
    assert_cancelled(server, session, call_id)


@pytest.mark.contract("C2")
def test_a_cancelled_notification_ends_the_command_and_its_request_gets_no_answer(
    server: Server, session: str, bridge: Bridge
) -> None:
    request = bridge.begin("execute_shell_command", command=HOSTILE)
    call_id = server.running_call(session)
    bridge.send("notifications/cancelled", {"requestId": request, "reason": "a person asked"})
    assert_cancelled(server, session, call_id)
    bridge.send("ping", {}, id="after")
    assert bridge.read() == {"jsonrpc": "2.0", "id": "after", "result": {}}


@pytest.mark.contract("C2", "B4")
def test_the_end_of_a_bridges_input_ends_the_command(server: Server, session: str, bridge: Bridge) -> None:
    bridge.begin("execute_shell_command", command=HOSTILE)
    call_id = server.running_call(session)
    assert bridge.process.stdin is not None
    bridge.process.stdin.close()
    bridge.process.stdin = None
    assert bridge.process.wait(BOUND_SECONDS) == 0
    assert_cancelled(server, session, call_id)


@pytest.mark.contract("C2")
def test_a_killed_bridge_ends_the_command(server: Server, session: str, bridge: Bridge) -> None:
    bridge.begin("execute_shell_command", command=HOSTILE)
    call_id = server.running_call(session)
    bridge.process.send_signal(signal.SIGKILL)
    assert_cancelled(server, session, call_id)


@pytest.mark.contract("C5", "T9")
def test_stopping_a_session_cancels_its_calls_and_leaves_nothing(server: Server, session: str, bridge: Bridge) -> None:
    bridge.begin("execute_shell_command", command=HOSTILE)
    call_id = server.running_call(session)
    stopped = server.client.post(f"/sessions/{session}/stop", waits=True)
    facts = {"session_id": session, "name": None, "state": "stopped", "cancelled_calls": 1}
    assert stopped == {**facts, "already_stopped": False, "executions": 0, "executions_cancelled": False}
    assert processes_of_call(call_id) == []
    text = bridge.read()["result"]["content"][0]["text"]
    assert text.startswith("CANCELED: layer=cancel owner=session tool=execute_shell_command")
    assert f"call_id={call_id}" in text


@pytest.mark.contract("W1")
def test_a_running_call_is_listed_with_its_start_and_its_arguments(
    server: Server, session: str, bridge: Bridge
) -> None:
    bridge.begin("execute_shell_command", command="sleep 600")
    call_id = server.running_call(session)
    (call,) = server.calls(session)
    assert (call["call_id"], call["session_id"], call["tool"]) == (call_id, session, "execute_shell_command")
    assert call["arguments"] == {"command": "sleep 600"}
    assert call["ended_at"] is call["why_ended"] is call["happened"] is None
    shown = server.client.get(f"/sessions/{session}")
    assert [listed["call_id"] for listed in shown["calls"]] == [call_id]  # type: ignore[attr-defined]
