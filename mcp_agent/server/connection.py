"""Work that lives as long as the client's connection.

A client that goes away does not cancel a handler by itself, so the work is raced against the connection's end.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from starlette.requests import ClientDisconnect, Request

from mcp_agent.errors import BadRequest

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


async def while_connected(request: Request, work: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """The work's result; `ClientGone` when the client left first. The request's body must have been read."""
    settled: list[ResultT] = []
    raised: list[Exception] = []

    async def run() -> None:
        try:
            settled.append(await work())
        except Exception as error:  # noqa: BLE001 - carried over the task group, which would wrap it
            raised.append(error)
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        while (await request.receive())["type"] != "http.disconnect":
            pass
        group.cancel_scope.cancel()
    if raised:
        raise raised[0]
    if not settled:
        raise ClientGone
    return settled[0]
