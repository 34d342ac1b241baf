"""The short way to a tool: a plain call of a session is answered before uvicorn and the routes see it.

What a framework does for one request takes longer than all of a call. So a connection looks at what comes: one whole
request for one call, written as the bridge writes it, is answered here. Everything else, and whatever is odd about a
call, is uvicorn's, and `tool_routes` answers it in the same words.
"""

import http
import logging
import re
from dataclasses import dataclass
from typing import Any

import anyio
from fastapi import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_agent.errors import Internal, McpAgentError
from mcp_agent.server import tool_routes
from mcp_agent.server.app import refusal
from mcp_agent.server.auth import session_of
from mcp_agent.server.runtime import Runtime
from mcp_agent.tools.tool import Category

log = logging.getLogger(__name__)

MOST_BYTES_AHEAD = 64 * 1024
"""What a client may send on while its call runs; it is read afterwards."""

_CATEGORIES: dict[str, Category] = {"virtual": "virtual", "custom": "custom"}
_PLAIN = re.compile(
    rb"POST /s/([\w.~-]+)/tools/(virtual|custom)/([\w.~-]+) HTTP/1\.1\r\n"
    rb"Host: mcp-agent\r\n"
    rb"Content-Length: (\d{1,9})\r\n"
    rb"Authorization: ([!-~]+ [!-~]+)\r\n"
    rb"X-Call-Id: (\w+)\r\n"
    rb"Content-Type: application/json\r\n"
    rb"\r\n",
)


@dataclass(frozen=True, slots=True)
class Call:
    """One whole request for one call, as it came."""

    session: str
    category: Category
    tool: str
    authorization: str
    call_id: str
    body: bytes


def plain_call(data: bytes) -> Call | None:
    """The call that these bytes are; None when they are anything else, or more, or less."""
    match = _PLAIN.match(data)
    if match is None or int(match[4]) != len(data) - match.end():
        return None
    session, category, tool, _, authorization, call_id = (word.decode("ascii") for word in match.groups())
    return Call(session, _CATEGORIES[category], tool, authorization, call_id, data[match.end() :])


async def answer(call: Call, runtime: Runtime) -> Response:
    """What the routes would answer. Cancelling this cancels the call's work."""
    try:
        live = session_of(call.session, runtime, call.authorization)
        wanted = tool_routes.wanted(call.call_id, call.category, call.tool, body=call.body)
        result = await runtime.dispatcher.call(tool_routes.caller_of(live, runtime), wanted)
        return tool_routes.shown(wanted, result)
    except McpAgentError as error:
        return refusal(error)
    except Exception:
        log.exception("call %s of %s", call.call_id, call.tool)
        return refusal(Internal(runtime.state.log))


class LaneProtocol(HttpToolsProtocol):
    """uvicorn's connection, with the short way before it. A closed connection cancels its call."""

    def __init__(self, *args: Any, runtime: Runtime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._runtime = runtime
        self._scope: anyio.CancelScope | None = None
        """Of the call that runs."""
        self._ahead = b""
        self._between_requests = True
        self._ends_after_call = False

    def data_received(self, data: bytes) -> None:
        if self._scope is not None:
            self._ahead += data
            if len(self._ahead) > MOST_BYTES_AHEAD:
                self.transport.close()
            return
        call = plain_call(data) if self._is_free else None
        if call is None:
            super().data_received(data)
            return
        self._unset_keepalive_if_required()
        self._scope = anyio.CancelScope()
        task = self.loop.create_task(self._run(call, self._scope))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_message_begin(self) -> None:
        self._between_requests = False
        super().on_message_begin()

    def on_message_complete(self) -> None:
        self._between_requests = True
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._scope is not None:
            self._scope.cancel()

    def shutdown(self) -> None:
        """End the connection, once its call is answered."""
        if self._scope is None:
            super().shutdown()
        else:
            self._ends_after_call = True

    @property
    def _is_free(self) -> bool:
        """Whether uvicorn has no request of this connection that is not whole, or not answered."""
        return self._between_requests and (self.cycle is None or self.cycle.response_complete)

    async def _run(self, call: Call, scope: anyio.CancelScope) -> None:
        response = None
        try:
            with scope:
                response = await answer(call, self._runtime)
        finally:
            self._scope = None
            if response is None:
                self.transport.close()
        if response is not None:
            self._send(response)

    def _send(self, response: Response) -> None:
        if self.transport.is_closing():
            return
        self.transport.write(_encoded(response, None if self._ends_after_call else self.timeout_keep_alive))
        if self._ends_after_call:
            self.transport.close()
            return
        self.on_response_complete()
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            self.data_received(ahead)


def _encoded(response: Response, keep_alive_seconds: int | None) -> bytes:
    """The answer in one piece: sent in two, the first would wake the client for half of it."""
    status = http.HTTPStatus(response.status_code)
    kept = "Connection: close" if keep_alive_seconds is None else f"Keep-Alive: timeout={keep_alive_seconds}"
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\n{kept}\r\n".encode()
    headers = [b"%b: %b\r\n" % header for header in response.raw_headers]
    return b"".join([head, *headers, b"\r\n", response.body])
