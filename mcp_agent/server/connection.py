"""Work that lives as long as the client's connection.

A client that goes away does not cancel a handler by itself, so the work is raced against the connection's end.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup
from starlette.requests import ClientDisconnect, Request

from mcp_agent.errors import BadRequest, ServerStopped

ResultT = TypeVar("ResultT")

LARGEST_BODY_BYTES = 16 * 1024 * 1024


class ClientGone(Exception):
    """The client closed its connection; its work was cancelled and has cleaned up."""


async def read_body(request: Request) -> bytes:
    """The whole body. Raises `ClientGone`, or `BadRequest` for one that is too large.

    A body that is too large is read to its end and not kept: a client that still sends would not hear the refusal.
    """
    body, size = bytearray(), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= LARGEST_BODY_BYTES:
                body += chunk
    except ClientDisconnect as error:
        raise ClientGone from error
    if size > LARGEST_BODY_BYTES:
        raise BadRequest(f"the request has {size} bytes, {LARGEST_BODY_BYTES} are the most")
    return bytes(body)


async def while_connected(
    request: Request, work: Callable[[], Awaitable[ResultT]], *, stop: anyio.Event | None = None
) -> ResultT:
    """The work's result; `ClientGone` when the client left first. The request's body must have been read.

    With `stop`, work that only waits ends with the server too, which is `ServerStopped`.
    """
    owner: TaskGroup = request.app.state.runtime.dispatcher.owner
    with anyio.CancelScope() as scope:
        owner.start_soon(_cancel_when_gone, request, scope, name="connection")
        if stop is not None:
            owner.start_soon(_cancel_at_stop, stop, scope, name="stop")
        return await work()
    if stop is not None and stop.is_set():
        raise ServerStopped
    raise ClientGone


async def _cancel_at_stop(stop: anyio.Event, scope: anyio.CancelScope) -> None:
    await stop.wait()
    scope.cancel()


async def _cancel_when_gone(request: Request, scope: anyio.CancelScope) -> None:
    """Ends by itself: the end of the response, too, is told as the end of the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
