"""Bridges of a session's own, driven over their stdio as a provider's CLI drives one."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, cast

from e2e.place import Place
from mcp_agent.bridge import mcpbridge

ANSWERED_WITHIN_SECONDS = 90
ENDS_WITHIN_SECONDS = 20

SHELL = "execute_shell_command"

_CALL_ID = re.compile(r"\bcall_id=(\w+)")

Json = dict[str, Any]


class BridgeGone(Exception):
    """The bridge ended before it answered."""


@dataclass(frozen=True)
class Answer:
    """What a model is given of one call."""

    text: str
    structured: Json | None

    @property
    def call_id(self) -> str:
        """The id in the first line of an honest answer."""
        found = _CALL_ID.search(self.text)
        assert found, self.text
        return found[1]


@dataclass(frozen=True)
class Call:
    """One call on its way."""

    request_id: int
    _answer: "Future[Json]"

    def answer(self) -> Answer:
        result = self._answer.result(ANSWERED_WITHIN_SECONDS)["result"]
        return Answer(result["content"][0]["text"], result.get("structuredContent"))

    @property
    def is_answered(self) -> bool:
        return self._answer.done() and self._answer.exception() is None


class Bridge:
    """One bridge process. Several may serve one session."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._ids = count(1)
        self._answers: dict[int, Future[Json]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    @contextmanager
    def of(cls, place: Place, session: str) -> Iterator["Bridge"]:
        """A bridge that has been initialized; it is gone on leaving."""
        command = [sys.executable, "-I", str(mcpbridge.__file__), str(session_file(place, session))]
        with subprocess.Popen(
            command, env=place.environment, cwd=place.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            bridge = cls(process)
            client = {"name": "e2e", "version": "1"}
            hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
            try:
                bridge.request("initialize", hello)[1].result(ANSWERED_WITHIN_SECONDS)
                bridge.notify("notifications/initialized", {})
                yield bridge
            finally:
                bridge.leave()

    def call(self, tool: str, **arguments: object) -> Call:
        return Call(*self.request("tools/call", {"name": tool, "arguments": arguments}))

    def ask(self, tool: str, **arguments: object) -> Answer:
        """Call, and wait for the answer."""
        return self.call(tool, **arguments).answer()

    def cancel(self, call: Call) -> None:
        self.notify("notifications/cancelled", {"requestId": call.request_id, "reason": "the test says so"})

    def request(self, method: str, params: Mapping[str, object]) -> tuple[int, "Future[Json]"]:
        request_id, answer = next(self._ids), Future[Json]()
        self._answers[request_id] = answer
        self._send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id, answer

    def notify(self, method: str, params: Mapping[str, object]) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def kill(self) -> None:
        """As `kill -9` does it."""
        self._process.kill()
        self._process.wait(ENDS_WITHIN_SECONDS)

    def leave(self) -> None:
        """Close its input, which ends it; one that stays is killed and fails the test."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(ENDS_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        finally:
            self._reader.join()

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = cast("Json", json.loads(line))
            self._answers.pop(message["id"]).set_result(message)
        for answer in self._answers.values():
            answer.set_exception(BridgeGone())


@contextmanager
def bridges(place: Place, session: str, number: int) -> Iterator[list[Bridge]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Bridge.of(place, session)) for _ in range(number)]


def session_file(place: Place, session: str) -> Path:
    return place.state / "sessions" / session / "bridge.json"


@contextmanager
def posted(place: Place, session: str, tool: str, **arguments: object) -> Iterator[None]:
    """The request that a bridge makes, sent by hand; leaving closes its connection without reading an answer."""
    known = json.loads(session_file(place, session).read_text(encoding="utf-8"))
    body = json.dumps(arguments).encode()
    head = (
        f"POST /s/{session}/tools/virtual/{tool} HTTP/1.1\r\nHost: e2e\r\nAuthorization: Bearer {known['token']}\r\n"
        f"X-Call-Id: call_{os.urandom(10).hex()}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(known["socket"])
        connection.sendall(head.encode() + body)
        yield
