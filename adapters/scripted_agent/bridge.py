"""The MCP client: one stdio server, newline-delimited JSON-RPC, tools only."""

import json
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import count

PROTOCOL_VERSION = "2025-11-25"
EXIT_GRACE = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class BridgeReady:
    """The server told its tools: each has at least a `name`."""

    tools: Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class BridgeGone:
    """The server ended, or never started."""

    problem: str


@dataclass(frozen=True, slots=True)
class CallAnswered:
    request_id: int
    text: str


BridgeMessage = BridgeReady | BridgeGone | CallAnswered


class Bridge:
    """A running server. What it says is handed to `tell`, from another thread."""

    def __init__(self, command: Sequence[str], tell: Callable[[BridgeMessage], None]) -> None:
        self._tell = tell
        self._ids = count(1)
        self._handlers: dict[int, Callable[[Mapping[str, object]], None]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except (OSError, IndexError) as problem:
            tell(BridgeGone(f"the bridge did not start: {problem}"))
            return
        threading.Thread(target=self._read, args=(self._process,), name="bridge", daemon=True).start()
        client = {"name": "scripted-agent", "version": "1"}
        hello = {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        self._request("initialize", hello, self._initialized)

    def call(self, tool: str, arguments: Mapping[str, object]) -> int:
        """Starts a call and returns the id of its request."""
        return self._request("tools/call", {"name": tool, "arguments": arguments}, None)

    def cancel(self, request_id: int, reason: str) -> None:
        """Asks the server to cancel a call; an answer that comes all the same is dropped."""
        self._handlers.pop(request_id, None)
        self._notify("notifications/cancelled", {"requestId": request_id, "reason": reason})

    def close(self) -> None:
        """Ends the server: end of input, then TERM, then KILL."""
        process = self._process
        if process is None or process.stdin is None:
            return
        with suppress(OSError):
            process.stdin.close()
        for stop in (process.terminate, process.kill):
            try:
                process.wait(EXIT_GRACE.total_seconds())
            except subprocess.TimeoutExpired:
                stop()
        process.wait()

    def _request(
        self, method: str, params: Mapping[str, object], handler: Callable[[Mapping[str, object]], None] | None
    ) -> int:
        request_id = next(self._ids)
        self._handlers[request_id] = handler or (
            lambda answer: self._tell(CallAnswered(request_id, answer_text(answer)))
        )
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def _notify(self, method: str, params: Mapping[str, object]) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _send(self, message: Mapping[str, object]) -> None:
        """A server that is gone is told by its reader; the message is lost with it."""
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, ValueError):
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()

    def _initialized(self, answer: Mapping[str, object]) -> None:
        self._notify("notifications/initialized", {})
        self._request("tools/list", {}, self._listed)

    def _listed(self, answer: Mapping[str, object]) -> None:
        result = answer.get("result")
        tools = result.get("tools") if isinstance(result, dict) else None
        named = [tool for tool in tools or [] if isinstance(tool, dict) and isinstance(tool.get("name"), str)]
        self._tell(BridgeReady(named))

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        for line in process.stdout or ():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                self._take(message)
        self._tell(BridgeGone("the bridge ended"))

    def _take(self, message: Mapping[str, object]) -> None:
        identifier = message.get("id")
        if "method" in message:
            if identifier is not None:
                self._answer(identifier, str(message["method"]))
        elif isinstance(identifier, int) and (handler := self._handlers.pop(identifier, None)):
            handler(message)

    def _answer(self, identifier: object, method: str) -> None:
        if method == "ping":
            self._send({"jsonrpc": "2.0", "id": identifier, "result": {}})
        else:
            error = {"code": -32601, "message": f"{method} is not supported"}
            self._send({"jsonrpc": "2.0", "id": identifier, "error": error})


def answer_text(answer: Mapping[str, object]) -> str:
    """What the model reads of an answer to `tools/call`."""
    result, error = answer.get("result"), answer.get("error")
    if not isinstance(result, dict):
        return f"MCP error: {error.get('message') if isinstance(error, dict) else 'no result'}"
    content = result.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return "\n".join(texts)
