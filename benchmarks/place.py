"""What the benchmarks of tool calls share: a real server with one session, and raw JSON-RPC over a program's stdio."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent.bridge import BRIDGE_PROGRAM
from mcp_agent.server.client import Client
from mcp_agent.server.starting import READY_FD_VARIABLE
from mcp_agent.state import StateDirectory

SERVER = (sys.executable, "-m", "mcp_agent.server")
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


@dataclass(slots=True)
class Stdio:
    """An initialized MCP server as a child, spoken to line by line."""

    process: "subprocess.Popen[bytes]"
    number: int = 0

    def call(self, tool: str, **arguments: object) -> str:
        """The text of the answer to one tool call."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return str(answer["content"][0]["text"])

    def ask(self, method: str, params: object) -> Any:
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        if answer.get("id") != self.number or "result" not in answer:
            raise SystemExit(f"no answer to {method}: {answer}")
        return answer["result"]

    def send(self, message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


@contextmanager
def stdio(argv: Sequence[str]) -> Generator[Stdio]:
    """The server that this command starts; it is told to leave by the end of its input."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        server = Stdio(process)
        server.ask("initialize", INITIALIZE)
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield server
        process.communicate()


@dataclass(slots=True)
class Place:
    """A server of ours, and the session whose bridge is asked."""

    state: StateDirectory
    session: str

    @property
    def bridge(self) -> list[str]:
        """The command of one more bridge of the session."""
        return [sys.executable, "-I", str(BRIDGE_PROGRAM), str(self._session_file)]

    @property
    def token(self) -> str:
        return str(json.loads(self._session_file.read_text())["token"])

    @property
    def _session_file(self) -> Path:
        return self.state.session(self.session) / "bridge.json"


@contextmanager
def place(directory: Path, server: Sequence[str] = SERVER) -> Generator[Place]:
    """A server below this directory, whose path must be short, with the tools of `benchmarks.tools`."""
    state, configuration = StateDirectory(directory / "home"), directory / "config" / "mcp-agent"
    configuration.mkdir(parents=True)
    (configuration / "config.toml").write_text('[tools]\nmodules = ["benchmarks.tools"]\n')
    with running(state, server, configuration.parent), Client.connect(state, start=False) as client:
        asked = {"provider": "scripted", "working_directory": str(directory), "trust": True}
        environment = {"PATH": os.environ["PATH"], "HOME": str(directory)}
        session = client.post("/sessions", {**asked, "environment": environment}, waits=True)
        yield Place(state, str(session["id"]))
        client.post("/server/stop?now=true", waits=True)


@contextmanager
def running(
    state: StateDirectory, server: Sequence[str], configuration: Path, **variables: str
) -> Generator["subprocess.Popen[bytes]"]:
    """The server process; leaving this waits for its end, which must have been asked for."""
    state.create()
    listens, ready = os.pipe()
    environment = {**os.environ, "MCP_AGENT_HOME": str(state.root), "XDG_CONFIG_HOME": str(configuration)}
    environment |= {READY_FD_VARIABLE: str(ready), **variables}
    with subprocess.Popen(server, env=environment, pass_fds=(ready,)) as process:
        os.close(ready)
        with os.fdopen(listens, "rb") as reader:
            if reader.read(1) != b"1":
                raise SystemExit("the server did not start")
        try:
            yield process
        except BaseException:
            process.terminate()
            raise


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def percentile(seconds: Sequence[float], share: float) -> float:
    """Of measurements that are in order."""
    return seconds[min(int(len(seconds) * share), len(seconds) - 1)]
