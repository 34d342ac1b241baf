"""An answer that is sent line by line until the client leaves, the server stops, or there is nothing more to say."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
from fastapi.responses import Response
from starlette.types import Receive, Scope, Send

from mcp_agent.errors import StoreUnusable

Lines = AsyncGenerator[str, None]


class EventStream(Response):
    """The status is sent at once, so that a client knows that it is connected before anything happens."""

    def __init__(self, lines: Lines, *, stop: anyio.Event, media_type: str) -> None:
        super().__init__(media_type=media_type, headers={"cache-control": "no-store"})
        del self.headers["content-length"]
        self._lines, self._stop = lines, stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(_until_gone, receive, group.cancel_scope)
            group.start_soon(_until_stopped, self._stop, group.cancel_scope)
            await self._send(send)
            group.cancel_scope.cancel()
        with anyio.move_on_after(1):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        async with aclosing(self._lines) as lines:
            try:
                async for line in lines:
                    await send({"type": "http.response.body", "body": line.encode(), "more_body": True})
            except StoreUnusable as error:
                body = f"event: error\ndata: {str(error).replace(chr(10), ' ')}\n\n".encode()
                await send({"type": "http.response.body", "body": body, "more_body": True})


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _until_stopped(stop: anyio.Event, scope: anyio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()
