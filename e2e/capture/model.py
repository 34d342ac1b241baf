"""A scripted model that can be told to be slow, or to refuse in a provider's own words."""

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mcp_agent.scenarios.model.app import build_app
from mcp_agent.scenarios.model.conversation import Text
from mcp_agent.scenarios.model.journal import Journal
from mcp_agent.scenarios.model.messages import MessagesDialect

KEY = "sk-test-loopback"
SUGGESTION = b"[SUGGESTION MODE"
"""Stands in a request for the user's next prompt."""


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    body: Mapping[str, object]
    headers: Mapping[str, str] = field(default_factory=dict)


class HeldModel:
    """`hold` keeps every answer back until `let_go`; a `refusal` is given instead of an answer."""

    def __init__(self) -> None:
        self.url = ""
        self.suggestion: str | None = None
        """The answer to a program that asks for the user's next prompt."""
        self.journal = Journal()
        self.refusal: Refusal | None = None
        self.asked = anyio.Event()
        self._open = anyio.Event()
        self._open.set()
        self._inner: ASGIApp = build_app(self.journal, api_key=KEY)

    def hold(self) -> None:
        self.asked, self._open = anyio.Event(), anyio.Event()

    def let_go(self) -> None:
        self._open.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._inner(scope, receive, send)
            return
        self.asked.set()
        await self._open.wait()
        first = await _whole(receive)
        if self.refusal is not None:
            await _answer(send, self.refusal.status, json.dumps(self.refusal.body).encode(), self.refusal.headers)
        elif self.suggestion and SUGGESTION in first["body"]:
            events = MessagesDialect().events(Text(self.suggestion), model="scripted-1")
            body = b"".join(event.encode() for event in events)
            await _answer(send, 200, body, {"content-type": "text/event-stream"})
        else:
            await self._inner(scope, _again(first, receive), send)


async def _whole(receive: Receive) -> Message:
    """The request's body in one message."""
    body, more = b"", True
    while more:
        part = await receive()
        body, more = body + part.get("body", b""), bool(part.get("more_body"))
    return {"type": "http.request", "body": body, "more_body": False}


def _again(first: Message, receive: Receive) -> Receive:
    """What was received already, and then the rest."""
    waiting = [first]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


async def _answer(send: Send, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    named = {"content-type": "application/json", **headers}
    pairs = [(name.encode(), value.encode()) for name, value in named.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serve() -> AsyncIterator[HeldModel]:
    """Runs on a loopback port that the kernel chose."""
    model = HeldModel()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        model.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(model, ws="none", lifespan="off", log_config=None, access_log=False))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            yield model
            model.let_go()
            server.should_exit, server.force_exit = True, True
