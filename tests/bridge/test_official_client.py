"""The official MCP client drives the bridge as it drives any server."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import TextContent

from mcp_agent.bridge import mcpbridge

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.bridge.conftest import Asked, FakeServer

pytestmark = [pytest.mark.anyio, pytest.mark.contract("B1")]


@asynccontextmanager
async def client(session_file: Path, mode: str = "legacy") -> AsyncIterator[Client]:
    arguments = ["-I", str(Path(mcpbridge.__file__)), str(session_file)]
    transport = stdio_client(StdioServerParameters(command=sys.executable, args=arguments))
    with anyio.fail_after(60):
        async with Client(transport, mode=mode) as client:
            yield client


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_it_initializes_lists_and_calls(server: FakeServer, session_file: Callable[..., Path], mode: str) -> None:
    server.behaviours["echo"] = server.answers({"text": "hello", "structured": {"greeting": "hello"}})
    async with client(session_file(), mode) as connected:
        listed = await connected.list_tools()
        result = await connected.call_tool("echo", {"a": 1})
        assert connected.server_info is not None
        assert connected.server_info.name == "api-bridge"

    assert [tool.name for tool in listed.tools] == ["echo", "slow", "patient"]
    assert result.content == [TextContent(type="text", text="hello")]
    assert result.structured_content == {"greeting": "hello"}
    assert not result.is_error
    assert server.calls()[0].body == b'{"a":1}'


async def test_a_refusal_and_a_timeout_are_ordinary_results_to_it(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    server.behaviours["nobody"] = server.answers({"error": {"kind": "UnknownTool", "message": "no such tool"}}, 404)
    async with client(session_file(limits={"ordinary_seconds": 0.3, "long_running_seconds": 0.3})) as connected:
        results = [await connected.call_tool("nobody", {}), await connected.call_tool("slow", {})]

    assert [result.is_error for result in results] == [False, False]
    texts = [content.text for result in results for content in result.content if isinstance(content, TextContent)]
    assert texts[0].startswith("ERROR: layer=server_tool")
    assert texts[1].startswith("TIMEOUT: layer=bridge_http")


@pytest.mark.contract("C2")
async def test_cancelling_its_task_cancels_the_call_and_the_client_goes_on(
    server: FakeServer, session_file: Callable[..., Path]
) -> None:
    async with client(session_file()) as connected:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(connected.call_tool, "slow", {})
            [call] = await anyio.to_thread.run_sync(server.wait_for_calls, 1)
            tasks.cancel_scope.cancel()

        assert await anyio.to_thread.run_sync(call.hung_up.wait, 20)
        assert (await connected.call_tool("echo", {})).content


@pytest.mark.contract("T5")
async def test_it_receives_progress_while_it_waits(server: FakeServer, session_file: Callable[..., Path]) -> None:
    seen: list[float] = []
    enough = anyio.Event()

    def answer_in_the_end(asked: Asked) -> None:
        anyio.from_thread.run(enough.wait, token=token)
        server.answers({"text": "done", "structured": None})(asked)

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        assert message is not None
        seen.append(progress)
        if len(seen) == 3:
            enough.set()

    token = anyio.lowlevel.current_token()
    server.behaviours["echo"] = answer_in_the_end
    async with client(session_file(progress_seconds=0.05)) as connected:
        result = await connected.call_tool("echo", {}, progress_callback=note)

    assert seen[:3] == [1, 2, 3]
    assert result.content == [TextContent(type="text", text="done")]
