"""A real server process of its own state directory, its sessions, and the bridge of one."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import anyio
import httpx
import pytest

from mcp_agent.bridge import BRIDGE_PROGRAM
from mcp_agent.processes import CALL_MARK, ProcessIdentity, marked
from mcp_agent.processes.reaping import reap
from mcp_agent.server.client import Client
from mcp_agent.sessions.closing import processes_of
from mcp_agent.state import StateDirectory
from mcp_agent.tmux.process import Tmux
from mcp_agent.tmux.server import kill_server

BOUND_SECONDS = 30.0
"""Far beyond what anything here takes: reached only when something hangs."""

Json = dict[str, Any]


def eventually(condition: Callable[[], object]) -> None:
    """Return once the condition holds, which nothing tells us of."""
    deadline = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


@dataclass
class Bridge:
    """The bridge program as a process, asked over its stdio."""

    process: "subprocess.Popen[bytes]"
    number: int = 0

    def send(self, method: str, params: Json, **more: object) -> None:
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, tool: str, **arguments: object) -> int:
        """Send one tool call and do not wait for its answer; the request's id."""
        self.number += 1
        self.send("tools/call", {"name": tool, "arguments": arguments}, id=self.number)
        return self.number

    def call(self, tool: str, **arguments: object) -> str:
        """The text of the answer to one tool call."""
        self.begin(tool, **arguments)
        return str(self.read()["result"]["content"][0]["text"])

    def read(self) -> Json:
        assert self.process.stdout is not None
        return cast("Json", json.loads(self.process.stdout.readline()))


@dataclass
class Server:
    """A running server, as its owner and as its sessions see it."""

    client: Client
    work: Path
    bridges: list[Bridge] = field(default_factory=list)

    @property
    def state(self) -> StateDirectory:
        return self.client.state

    @property
    def pid(self) -> int:
        return int(str(self.client.get("/server")["pid"]))

    def start_session(self, **body: object) -> str:
        asked = {"provider": "scripted", "working_directory": str(self.work), "trust": True, **body}
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.work)}
        session = self.client.post("/sessions", {"environment": environment, **asked}, waits=True)
        assert session["state"] == "ready"
        return str(session["id"])

    def token_of(self, session: str) -> str:
        return str(json.loads(self.bridge_file(session).read_text())["token"])

    def bridge_file(self, session: str) -> Path:
        return self.state.session(session) / "bridge.json"

    def ask(self, method: str, path: str, *, token: str | None, **more: Any) -> httpx.Response:
        """One request that shows this token, or none."""
        transport = httpx.HTTPTransport(uds=str(self.state.server_socket))
        headers = {
            **({"Authorization": f"Bearer {token}".strip()} if token is not None else {}),
            **more.pop("headers", {}),
        }
        with httpx.Client(transport=transport, base_url="http://mcp-agent", timeout=BOUND_SECONDS) as http:
            return http.request(method, path, headers=headers, **more)

    def call(self, session: str, body: bytes, *, call_id: str | None = "call_1", tool: str | None = None) -> Json:
        """The answer to one tool call over HTTP, whatever its status."""
        path = f"/s/{session}/tools/virtual/{tool or 'execute_shell_command'}"
        headers = {"X-Call-Id": call_id} if call_id is not None else {}
        response = self.ask("POST", path, token=self.token_of(session), headers=headers, content=body)
        return {"status": response.status_code, **response.json()}

    def bridge(self, session: str) -> Bridge:
        """One more bridge of this session, started the way its CLI does."""
        argv = [sys.executable, "-I", str(BRIDGE_PROGRAM), str(self.bridge_file(session))]
        self.bridges.append(Bridge(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)))
        return self.bridges[-1]

    def crash(self) -> None:
        """Kill the server, and return once nobody holds its lock."""
        signal.pidfd_send_signal(os.pidfd_open(self.pid), signal.SIGKILL)
        self.client.wait_until_gone()

    def start_again(self) -> None:
        self.client = Client.connect(self.state)

    def show(self, call_id: str) -> Json:
        return self.client.get(f"/calls/{call_id}")

    def calls(self, session: str) -> list[Json]:
        return cast("list[Json]", self.client.get("/calls", session=session)["calls"])

    def running_call(self, session: str) -> str:
        """The id of a running call, once its command runs."""
        eventually(lambda: any(call["ended_at"] is None for call in self.calls(session)))
        call_id = next(str(call["call_id"]) for call in self.calls(session) if call["ended_at"] is None)
        eventually(lambda: len(processes_of_call(call_id)) > 1)
        return call_id


def processes_of_call(call_id: str) -> list[ProcessIdentity]:
    return marked(CALL_MARK, call_id)


@pytest.fixture
def state(short_tmp: Path) -> Iterator[StateDirectory]:
    """A state directory; whatever a test left running in it is ended with it."""
    state = StateDirectory(short_tmp / "home")
    yield state
    put_away(state)


def put_away(state: StateDirectory) -> None:
    with contextlib.suppress(Exception), Client.connect(state, start=False) as client:
        client.post("/server/stop?now=true", waits=True)
        client.wait_until_gone()
    anyio.run(_end_the_rest, state)


async def _end_the_rest(state: StateDirectory) -> None:
    with contextlib.suppress(OSError, ValueError):
        server = ProcessIdentity.from_json(json.loads(state.server_record.read_text()))
        await reap([server], grace=timedelta(seconds=10))
    for session in state.sessions.glob("*"):
        await reap(processes_of(session.name), grace=timedelta(0))
    await kill_server(Tmux.at(state.tmux_socket))


@contextlib.contextmanager
def running_server(root: Path) -> Iterator[Server]:
    """A server process of its own, whose sessions work below this directory."""
    work, state = root / "work", StateDirectory(root / "home")
    work.mkdir()
    try:
        with Client.connect(state, environ={**os.environ, "XDG_CONFIG_HOME": str(root / "config")}) as client:
            found = Server(client, work)
            yield found
            for bridge in found.bridges:
                bridge.process.kill()
                bridge.process.communicate()
    finally:
        put_away(state)


@pytest.fixture
def server(short_tmp: Path) -> Iterator[Server]:
    """A server of this test alone."""
    with running_server(short_tmp) as found:
        yield found


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Server]:
    """A server for tests that change nothing in it."""
    root = Path(tempfile.mkdtemp(prefix="ma-", dir="/tmp"))
    with running_server(root) as found:
        yield found
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def shared_session(shared_server: Server) -> str:
    """A session of the shared server that calls no tool."""
    return shared_server.start_session()


@pytest.fixture
def session(server: Server) -> str:
    """A ready session of the scripted agent."""
    return server.start_session()
