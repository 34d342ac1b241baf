"""A server of its own whose sessions run the scripted agent with the bad habits that a test asks for."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from mcp_agent.adapter import Composer, Screen, Signal
from mcp_agent.errors import RemoteError
from mcp_agent.processes import ProcessIdentity
from mcp_agent.processes.reaping import reap
from mcp_agent.registry import load
from mcp_agent.server.client import Client
from mcp_agent.sessions.closing import processes_of
from mcp_agent.state import StateDirectory
from mcp_agent.tmux.process import Tmux
from mcp_agent.tmux.screen import read_screen
from mcp_agent.tmux.server import ServerProcess, kill_server, record_path

BOUND_SECONDS = 40.0
"""Far beyond what anything here takes: reached only when something hangs."""

Json = dict[str, Any]


def eventually(condition: Callable[[], object]) -> None:
    """Return once the condition holds, which nothing tells us of."""
    deadline = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


@dataclass
class Session:
    """One session, and what its program wrote down of all that it took."""

    house: "House"
    id: str
    record: Path
    gate: Path
    """What a program waits for that was told to wait."""

    def show(self) -> Json:
        return self.house.client.get(f"/sessions/{self.id}")

    @property
    def state(self) -> str:
        return str(self.show()["state"])

    @property
    def pane(self) -> str:
        return str(self.show()["pane"]["pane_id"])

    @property
    def pid(self) -> int:
        return int(self.show()["pane"]["pid"])

    def send(self, text: str, **more: object) -> str:
        """The outcome."""
        body = {"text": text, **more}
        return str(self.house.client.post(f"/sessions/{self.id}/send", body, waits=True)["outcome"])

    def refused(self, text: str, **more: object) -> RemoteError:
        """The error that a send ends with."""
        with pytest.raises(RemoteError) as caught:
            self.send(text, **more)
        return caught.value

    def stop(self) -> None:
        self.house.client.post(f"/sessions/{self.id}/stop", waits=True)

    def open_gate(self) -> None:
        self.gate.touch()

    def notes(self, kind: str) -> list[str]:
        """What the program noted of this kind, in order."""
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [note["text"] for note in map(json.loads, lines) if note["kind"] == kind]

    @property
    def submitted(self) -> list[str]:
        return self.notes("submit")

    @property
    def received(self) -> str:
        """Every byte, as one character each."""
        return "".join(self.notes("read"))

    @property
    def pastes(self) -> int:
        return self.received.count("\x1b[200~")

    def screen(self) -> Screen:
        """The pane as it is now, as the product reads it."""
        printed = self.house.tmux("capture-pane", "-p", "-e", "-J", "-t", self.pane).split("\n")
        lines, dim_lines = read_screen(printed)
        return Screen(lines, dim_lines=dim_lines)

    def composer(self) -> Composer:
        composer = load("scripted").composer(self.screen())
        assert composer is not None
        return composer

    def says(self) -> list[Signal]:
        """What its adapter reads from the screen."""
        return list(load("scripted").read(self.screen()))

    def type(self, *keys: str) -> None:
        """Keys as a person presses them."""
        self.house.tmux("send-keys", "-t", self.pane, *keys)

    def until(self, condition: Callable[[], object]) -> None:
        eventually(condition)


@dataclass
class House:
    """A server and the place where its sessions work."""

    root: Path
    client: Client
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def state(self) -> StateDirectory:
        return self.client.state

    @property
    def work(self) -> Path:
        return self.root / "work"

    def start(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        asked: Mapping[str, object] | None = None,
        **quirks: object,
    ) -> Session:
        """A session of the scripted agent. A quirk that waits for a file waits for the session's gate."""
        number = next(self._numbers)
        record, gate = self.root / f"record-{number}", self.root / f"gate-{number}"
        waits = {name: str(gate) for name, value in quirks.items() if value == "gate"}
        habits = json.dumps({"record": str(record), **quirks, **waits})
        common = {"provider": "scripted", "working_directory": str(self.work), "trust": True}
        variables = {"PATH": "/usr/bin:/bin", "HOME": str(self.work), "SCRIPTED_AGENT_QUIRKS": habits}
        body = {**common, "environment": variables | dict(environment or {}), **(asked or {})}
        session = self.client.post("/sessions", body, waits=True)
        assert session["state"] == "ready", session
        return Session(self, str(session["id"]), record, gate)

    def sessions(self) -> list[Json]:
        return cast("list[Json]", self.client.get("/sessions")["sessions"])

    def tmux(self, *arguments: str) -> str:
        """A tmux command from outside, on the private server."""
        argv = ["tmux", "-u", "-N", "-S", str(self.state.tmux_socket), *arguments]
        return subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True).stdout.rstrip("\n")

    @property
    def tmux_server(self) -> ServerProcess:
        recorded = ServerProcess.recorded(record_path(self.state.tmux_socket))
        assert recorded is not None
        return recorded

    @property
    def pid(self) -> int:
        return int(str(self.client.get("/server")["pid"]))

    def until(self, condition: Callable[[], object]) -> None:
        eventually(condition)

    def kill(self) -> None:
        """Kill the server, and return once nobody holds its lock."""
        signal.pidfd_send_signal(os.pidfd_open(self.pid), signal.SIGKILL)
        self.client.wait_until_gone()

    def start_again(self) -> None:
        self.client = Client.connect(self.state)


@contextlib.contextmanager
def running_house(root: Path, **environment: str) -> Iterator[House]:
    """A server process below this directory, with all that it started ended on leaving."""
    state = StateDirectory(root / "home")
    (root / "work").mkdir()
    environ = {**os.environ, "XDG_CONFIG_HOME": str(root / "config"), **environment}
    for name in ("TMUX", "TMUX_PANE", "MCP_AGENT_HOME"):
        environ.pop(name, None)
    try:
        with Client.connect(state, environ=environ | environment) as client:
            yield House(root, client)
    finally:
        _put_away(state)


def _put_away(state: StateDirectory) -> None:
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
def short_root() -> Iterator[Path]:
    """A directory with a path short enough for sockets, for more than one test."""
    root = Path(tempfile.mkdtemp(prefix="ma-", dir="/tmp"))
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    """A server that the tests of one file share: what a test does to its session is its own business.

    Its directory is trusted already, so that no test depends on who was first to answer that question.
    """
    with short_root() as root, running_house(root) as found:
        found.start().stop()
        yield found


@pytest.fixture
def build_house(short_tmp: Path) -> Iterator[Callable[..., House]]:
    """Makes servers of this test alone, with more variables in their environment."""
    numbers = count(1)
    with contextlib.ExitStack() as houses:

        def build(**environment: str) -> House:
            root = short_tmp / str(next(numbers))
            root.mkdir()
            return houses.enter_context(running_house(root, **environment))

        yield build


@pytest.fixture
def own_house(build_house: Callable[..., House]) -> House:
    """A server of this test alone."""
    return build_house()


@dataclass
class Shim:
    """A `tmux` that stands before the real one on PATH, and does what its script says before it goes on to it."""

    directory: Path

    @classmethod
    def at(cls, directory: Path) -> "Shim":
        """Goes on to the real tmux at once, until it is told to do something."""
        directory.mkdir()
        made = cls(directory)
        made.does(":")
        return made

    @property
    def path(self) -> str:
        return f"{self.directory}{os.pathsep}{os.environ['PATH']}"

    def does(self, script: str) -> None:
        """`script` is shell; it sees the arguments as `$@`."""
        program, real = self.directory / "tmux", shutil.which("tmux", path=os.environ["PATH"])
        draft = program.with_name("draft")
        draft.write_text(f'#!/bin/sh\n{script}\nexec {shlex.quote(str(real))} "$@"\n')
        draft.chmod(0o700)
        draft.replace(program)


@pytest.fixture
def shim(short_tmp: Path) -> Shim:
    return Shim.at(short_tmp / "shim")


@pytest.fixture(scope="module")
def troubled_house() -> Iterator[tuple[House, Shim]]:
    """A server whose tmux is the shim."""
    with short_root() as root:
        shim = Shim.at(root / "shim")
        with running_house(root, PATH=shim.path) as found:
            yield found, shim
