"""What the bridge answers to each MCP message. Requests that need the server have a thread each."""

import threading
from collections.abc import Callable
from contextlib import suppress

from . import jsonrpc, texts
from .in_flight import InFlight
from .jsonrpc import Message, Notification, Request, RpcError
from .server_api import ToolServer
from .session_file import Session
from .stdio import LONGEST_LINE, Output
from .tool_call import ToolCall
from .unix_http import Exchange, ExchangeError
from .workers import Workers

NAME = "api-bridge"
VERSION = "0.1.0"
PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")

Work = Callable[[Exchange], Message]


class Bridge:
    def __init__(self, session: Session, output: Output) -> None:
        self._session, self._output = session, output
        self._server = ToolServer(session)
        self._in_flight = InFlight(output)
        self._workers = Workers()

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
                self._start(request, lambda exchange: self._list(request, exchange))
            case "tools/call":
                call = ToolCall(request)
                self._start(request, lambda exchange: self._call(request, call, exchange))
            case _:
                raise RpcError(jsonrpc.METHOD_NOT_FOUND, f"no method {request.method[:100]!r}", request.id)

    def _start(self, request: Request, work: Work) -> None:
        exchange = self._in_flight.open(request.id)
        try:
            self._workers.start(lambda: self._run(request, exchange, work))
        except RuntimeError:  # the system gives no more threads
            fault = jsonrpc.error(
                request.id, jsonrpc.INTERNAL_ERROR, "too many requests at once; this one was not started"
            )
            self._in_flight.finish(request.id, exchange, fault)

    def _run(self, request: Request, exchange: Exchange, work: Work) -> None:
        fault = "a fault in the bridge; whether the operation happened is unknown"
        answer = jsonrpc.error(request.id, jsonrpc.INTERNAL_ERROR, fault)
        try:
            answer = work(exchange)
        finally:
            self._in_flight.finish(request.id, exchange, answer)

    def _list(self, request: Request, exchange: Exchange) -> Message:
        try:
            tools = self._server.tools(exchange)
        except ExchangeError as error:
            problem = texts.list_missing(self._session.id, str(error))
            return jsonrpc.error(request.id, jsonrpc.INTERNAL_ERROR, problem)
        return jsonrpc.result(request.id, {"tools": [tool.shown for tool in tools]})

    def _call(self, request: Request, call: ToolCall, exchange: Exchange) -> Message:
        over = threading.Event()
        if self._session.progress_seconds is not None and call.progress_token is not None:
            arguments = (request, call, exchange, over, self._session.progress_seconds)
            threading.Thread(target=self._report_progress, args=arguments, name="progress", daemon=True).start()
        try:
            return jsonrpc.result(request.id, call.run(self._server, exchange))
        finally:
            over.set()

    def _report_progress(
        self, request: Request, call: ToolCall, exchange: Exchange, over: threading.Event, interval_seconds: float
    ) -> None:
        step = 0
        while not over.wait(interval_seconds):
            step += 1
            message = f"{call.name} still running ({step * interval_seconds:.0f}s)"
            params: Message = {"progressToken": call.progress_token, "progress": step, "message": message}
            self._in_flight.tell(request.id, exchange, jsonrpc.notification("notifications/progress", params))


def _initialize(params: Message) -> Message:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in PROTOCOL_VERSIONS else PROTOCOL_VERSIONS[-1],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": NAME, "version": VERSION},
    }
