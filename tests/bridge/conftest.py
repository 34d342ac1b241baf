"""A tool server that does as a test tells it, and the real bridge as a process."""

import itertools
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest

BRIDGE = Path(__file__).parents[2] / "mcp_agent/bridge/mcpbridge.py"
EVENT_HOOK = BRIDGE.with_name("event_hook.py")
BOUND_SECONDS = 20.0
TOKEN = "token-of-this-test"

Json = dict[str, Any]


@dataclass(slots=True)
class Asked:
    """One request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: socket.socket
    hung_up: threading.Event = field(default_factory=threading.Event)


Behaviour = Callable[[Asked], None]


class FakeServer:
    """Serves one session on a unix socket; tools behave as `behaviours` says and echo their arguments otherwise."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked: list[Asked] = []
        self.tools = [self.tool("echo"), self.tool("slow"), self.tool("patient", long_running=True)]
        self.behaviours: dict[str, Behaviour] = {"slow": self.hangs, "patient": self.hangs}
        self.list_behaviour: Behaviour | None = None
        self.hang_up_early = False
        self.keeps_connections = False
        """Several requests are served on each connection; else one."""
        self._changed = threading.Condition()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @staticmethod
    def tool(name: str, **more: object) -> Json:
        tool: Json = {
            "name": name,
            "description": f"Does {name}.",
            "inputSchema": {"type": "object"},
            "annotations": None,
        }
        return tool | {"category": "virtual", "server": None, "long_running": False, "secret": 1} | more

    def calls(self) -> list[Asked]:
        return [asked for asked in list(self.asked) if asked.method == "POST"]

    def wait_for_calls(self, count: int) -> list[Asked]:
        assert self.wait_until(lambda: len(self.calls()) >= count)
        return self.calls()

    def wait_until(self, happened: Callable[[], bool]) -> bool:
        with self._changed:
            return self._changed.wait_for(happened, BOUND_SECONDS)

    def hangs(self, asked: Asked) -> None:
        """Answer never; note when the client hangs up."""
        assert not asked.connection.recv(1)
        with self._changed:
            asked.hung_up.set()
            self._changed.notify_all()

    @staticmethod
    def answers(answer: object, status: int = 200) -> Behaviour:
        return FakeServer.sends(http(status, json.dumps(answer).encode()))

    @staticmethod
    def sends(raw: bytes) -> Behaviour:
        return lambda asked: asked.connection.sendall(raw)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(BOUND_SECONDS)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while self._serve_one(connection, stream) and self.keeps_connections:
                pass

    def _serve_one(self, connection: socket.socket, stream: BinaryIO) -> bool:
        head = list(itertools.takewhile(lambda line: line not in {b"\r\n", b""}, stream))
        if self.hang_up_early or not head:
            return False
        method, path, _ = head[0].decode().split(" ")
        headers = dict(line.decode().rstrip().split(": ", 1) for line in head[1:])
        body = stream.read(int(headers["Content-Length"]))
        asked = Asked(method, path, headers, body, connection)
        with self._changed:
            self.asked.append(asked)
            self._changed.notify_all()
        with suppress(BrokenPipeError, ConnectionResetError):  # the client may have had enough
            self._behaviour(asked)(asked)
        return True

    def _behaviour(self, asked: Asked) -> Behaviour:
        if asked.method == "GET":
            return self.list_behaviour or self.answers({"tools": self.tools})
        echo = {"call_id": asked.headers.get("X-Call-Id"), "text": asked.body.decode(), "structured": None}
        return self.behaviours.get(asked.path.rpartition("/")[2]) or self.answers(echo)


def http(status: int, body: bytes, *headers: bytes) -> bytes:
    head = [b"HTTP/1.1 %d X" % status, b"content-length: %d" % len(body), *headers]
    return b"\r\n".join([*head, b"", b""]) + body


class Bridge:
    """The bridge as a child of the test. Everything it writes must be a JSON-RPC message, one a line."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False)
        self.messages: list[Json] = []
        self.garbage: list[bytes] = []
        self.raw: list[bytes] = []
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: object = None, **more: object) -> None:
        message = {"jsonrpc": "2.0", "method": method} | more
        self.write(json.dumps(message if params is None else message | {"params": params}).encode())

    def call(self, request_id: int | str, tool: str, **arguments: object) -> None:
        self.send("tools/call", {"name": tool, "arguments": arguments}, id=request_id)

    def answer(self, request_id: int | str | None) -> Json:
        """The answer to this id, waited for; each answer is handed out once."""
        assert self.wait_until(lambda: self._ended or self._find(request_id) is not None)
        with self._changed:
            found = self._find(request_id)
            assert found is not None, "the bridge ended without an answer"
            self.messages.remove(found)
            return found

    def wait_until(self, happened: Callable[[], bool]) -> bool:
        """Wait until what the bridge wrote makes this true."""
        with self._changed:
            return self._changed.wait_for(happened, BOUND_SECONDS)

    def text(self, request_id: int | str) -> str:
        """The text of a call's ordinary result."""
        result = self.answer(request_id)["result"]
        assert not result.get("isError")
        [content] = result["content"]
        assert content["type"] == "text"
        return str(content["text"])

    def ask(self, method: str, params: object = None, *, request_id: int | str = "ask") -> Json:
        self.send(method, params, id=request_id)
        return self.answer(request_id)

    def lives(self) -> bool:
        return bool(self.ask("ping")["result"] == {})

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        """Close stdin and wait for the exit status; afterwards `messages` is all that was not handed out."""
        self.close_input()
        status = self.process.wait(BOUND_SECONDS)
        self._reader.join(BOUND_SECONDS)
        return status

    def kill(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait(BOUND_SECONDS)
        self._reader.join(BOUND_SECONDS)
        self.process.stdout.close()
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    def _find(self, request_id: int | str | None) -> Json | None:
        return next((message for message in self.messages if "id" in message and message["id"] == request_id), None)

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._changed:
                self.raw.append(line)
                try:
                    message = json.loads(line)
                    assert message["jsonrpc"] == "2.0"
                    self.messages.append(message)
                except (ValueError, KeyError, TypeError, AssertionError):
                    self.garbage.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


@pytest.fixture
def server(short_tmp: Path) -> Iterator[FakeServer]:
    server = FakeServer(short_tmp / "server.sock")
    yield server
    server.close()


@pytest.fixture
def session_file(short_tmp: Path) -> Callable[..., Path]:
    """Writes the session file; keyword arguments replace what stands in it."""

    def write(**changes: object) -> Path:
        record: Json = {
            "session": "s-1",
            "token": TOKEN,
            "socket": str(short_tmp / "server.sock"),
            "start_server": ["/bin/false"],
            "start_environment": {},
            "limits": {"ordinary_seconds": 60.0, "long_running_seconds": 90.0},
            "progress_seconds": None,
        }
        path = short_tmp / "bridge.json"
        path.write_text(json.dumps(record | changes))
        path.chmod(0o600)
        return path

    return write


@pytest.fixture
def start(session_file: Callable[..., Path]) -> Iterator[Callable[..., Bridge]]:
    """Starts a bridge; keyword arguments go into its session file."""
    bridges: list[Bridge] = []

    def start(**changes: object) -> Bridge:
        bridges.append(Bridge(sys.executable, "-I", str(BRIDGE), str(session_file(**changes))))
        return bridges[-1]

    yield start
    for bridge in bridges:
        bridge.kill()
        assert bridge.garbage == []


@pytest.fixture
def bridge(server: FakeServer, start: Callable[..., Bridge]) -> Bridge:
    """A bridge whose server is there."""
    return start()
