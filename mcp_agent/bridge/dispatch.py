"""What the bridge answers to each MCP message. Requests that need the server have a task each."""

import time
from collections.abc import Generator
from contextlib import suppress

from . import jsonrpc, texts
from .in_flight import InFlight
from .jsonrpc import Message, Notification, Request, RpcError
from .loop import Loop, Task, Wait
from .server_api import ToolServer
from .session_file import Session
from .stdio import LONGEST_LINE, Output
from .tool_call import ToolCall
from .unix_http import ExchangeError

NAME = "api-bridge"
VERSION = "0.1.0"
PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

Work = Generator[Wait, bool, Message]


class Bridge:
    def __init__(self, session: Session, output: Output, loop: Loop) -> None:
        self._session, self._output = session, output
        self._server = ToolServer(session)
        self._in_flight = InFlight(loop)

    def take(self, line: bytes | None) -> None:
        """Act on one line of the client's. Returns at once, and raises nothing because of what the line holds."""
        if line is None:
            problem = f"a line is at most {LONGEST_LINE} bytes long"
            self._output.send(jsonrpc.error(None, jsonrpc.INVALID_REQUEST, problem))
            return
        try:
            message = jsonrpc.parse(line)
            if isinstance(message, Request):
                self._answer(message)
            elif isinstance(message, Notification):
                self._note(message)
        except RpcError as error:
            self._output.send(error.answer())

    def cancel_all(self) -> None:
        self._in_flight.cancel_all()

    def _note(self, notification: Notification) -> None:
        if notification.method == "notifications/cancelled":
            with suppress(RpcError):
                self._in_flight.cancel(jsonrpc.as_id(notification.params.get("requestId")))

    def _answer(self, request: Request) -> None:
        if request.id in self._in_flight:
            raise RpcError(jsonrpc.INVALID_REQUEST, "a request with this id is still running", request.id)
        match request.method:
            case "initialize":
                self._output.send(jsonrpc.result(request.id, _initialize(request.params)))
            case "ping":
                self._output.send(jsonrpc.result(request.id, {}))
            case "tools/list":
                self._in_flight.start(request.id, self._run(request, self._list(request)))
            case "tools/call":
                call = ToolCall(request)
                work = self._run(request, self._call(request, call))
                self._in_flight.start(request.id, work, *self._reports(call))
            case _:
                raise RpcError(jsonrpc.METHOD_NOT_FOUND, f"no method {request.method[:100]!r}", request.id)

    def _run(self, request: Request, work: Work) -> Generator[Wait, bool, None]:
        """Answer a request with what the work makes of it. Stopped, it answers nothing."""
        fault = "a fault in the bridge; whether the operation happened is unknown"
        answer = jsonrpc.error(request.id, jsonrpc.INTERNAL_ERROR, fault)
        try:
            answer = yield from work
        finally:
            if request.id in self._in_flight:
                self._in_flight.end(request.id)
                self._output.send(answer)

    def _list(self, request: Request) -> Work:
        try:
            tools = yield from self._server.tools()
        except ExchangeError as error:
            problem = texts.list_missing(self._session.id, str(error))
            return jsonrpc.error(request.id, jsonrpc.INTERNAL_ERROR, problem)
        return jsonrpc.result(request.id, {"tools": [tool.shown for tool in tools]})

    def _call(self, request: Request, call: ToolCall) -> Work:
        return jsonrpc.result(request.id, (yield from call.run(self._server)))

    def _reports(self, call: ToolCall) -> list[Task]:
        """The task that reports progress, where the session wants it and the client can tell it apart."""
        interval_seconds = self._session.progress_seconds
        if interval_seconds is None or call.progress_token is None:
            return []
        return [self._report(call, interval_seconds)]

    def _report(self, call: ToolCall, interval_seconds: float) -> Task:
        began, step = time.monotonic(), 0
        while True:
            step += 1
            yield Wait(until=began + step * interval_seconds)
            message = f"{call.name} still running ({step * interval_seconds:.0f}s)"
            params: Message = {"progressToken": call.progress_token, "progress": step, "message": message}
            self._output.send(jsonrpc.notification("notifications/progress", params))


def _initialize(params: Message) -> Message:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[-1],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": NAME, "version": VERSION},
    }
