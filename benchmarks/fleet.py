"""What the benchmarks of sessions share: a server, any number of sessions on it, and a scripted model on loopback."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from benchmarks.place import SERVER, running
from mcp_agent.server.client import Client
from mcp_agent.state import StateDirectory

ROOT = Path(__file__).parent.parent
BINARIES = (ROOT / ".toolchain/bin", Path(sys.executable).parent, "/usr/local/bin", "/usr/bin", "/bin")
MODEL_PROGRAM = ROOT / "e2e/model_program.py"
KEY = "sk-test-loopback"
LOOK_AGAIN = timedelta(milliseconds=2)
TURN_ENDS_WITHIN = timedelta(minutes=2)

Json = Mapping[str, object]
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Session:
    """One session, as its owner's programs see it."""

    client: Client
    id: str

    @property
    def path(self) -> str:
        return f"/sessions/{self.id}"

    def show(self) -> Json:
        return self.client.get(self.path)

    def send(self, text: str) -> str:
        """The id of the turn that this prompt started; anything else ends the benchmark."""
        sent = self.client.post(f"{self.path}/send", {"text": text}, waits=True)
        if sent["outcome"] != "delivered":
            raise SystemExit(f"session {self.id}: a prompt was {sent['outcome']}")
        return str(sent["turn_id"])

    def wait_for(self, turn: str) -> Json:
        """The turn, as soon as its end is visible."""
        found = self.client.wait(f"{self.path}/turns/{turn}?wait_seconds={TURN_ENDS_WITHIN.total_seconds()}")
        if found["outcome"] != "completed":
            raise SystemExit(f"session {self.id}: a turn ended as {found['outcome']}")
        return found

    def stop(self) -> None:
        self.client.post(f"{self.path}/stop", waits=True)


@dataclass(slots=True)
class Fleet:
    """A server of its own below a directory whose path is short, and the sessions that are started on it."""

    root: Path
    state: StateDirectory
    client: Client
    server: "subprocess.Popen[bytes]"
    model_url: str | None

    def start(self, provider: str, **more: object) -> Session:
        """A session in a home of its own, ready."""
        home = Path(tempfile.mkdtemp(prefix="home-", dir=self.root))
        for name in ("work", "tmp"):
            (home / name).mkdir()
        environment = {"PATH": os.pathsep.join(map(str, BINARIES)), "HOME": str(home), "LANG": "C.UTF-8"}
        asked = {"provider": provider, "working_directory": str(home / "work"), "home": str(home), "trust": True}
        if self.model_url is not None:
            more["endpoint"] = {"base_url": self.model_url, "api_key": KEY}
        session = self.client.post("/sessions", {**asked, "environment": environment, **more}, waits=True)
        if session["state"] != "ready":
            raise SystemExit(f"a session is {session['state']} instead of ready")
        return Session(self.client, str(session["id"]))

    def at(self, session_id: str) -> Session:
        """A session of this server, or of the one before it."""
        return Session(self.client, session_id)

    def transcript(self, session: Session) -> Path:
        """What the scripted agent writes down of its conversation."""
        name = f"{session.show()['native_session_id']}.jsonl"
        return next(self.root.glob(f"home-*/.scripted-agent/{name}"))

    def crash(self) -> None:
        """Kill the server; its sessions live on in tmux."""
        self.server.kill()
        self.server.wait()

    def start_again(self) -> None:
        """Return as soon as the next server listens."""
        self.client = Client.connect(self.state)

    def tmux_starts(self) -> int:
        """How many tmux processes were started for this server so far."""
        return len(self.tmux_log.read_text().splitlines()) if self.tmux_log.exists() else 0

    @property
    def tmux_log(self) -> Path:
        return self.root / "tmux.log"


@contextmanager
def fleet(root: Path, model_url: str | None = None) -> Generator[Fleet]:
    """`root` must be short. On leaving, everything that runs on the server is stopped."""
    state, configuration = StateDirectory(root / "state"), root / "config"
    configuration.mkdir(exist_ok=True)
    path = os.pathsep.join([str(_counting_tmux(root)), os.environ["PATH"]])
    with running(state, SERVER, configuration, PATH=path) as server, Client.connect(state, start=False) as client:
        found = Fleet(root, state, client, server, model_url)
        yield found
        found.client.post("/server/stop?now=true", waits=True)


def _counting_tmux(root: Path) -> Path:
    """A directory with a `tmux` that leaves one line for each time it is started."""
    directory = root / "bin"
    directory.mkdir(exist_ok=True)
    real = shutil.which("tmux")
    program = directory / "tmux"
    program.write_text(f'#!/bin/sh\necho "$*" >> {root / "tmux.log"}\nexec {real} "$@"\n')
    program.chmod(0o700)
    return directory


def at_once(count: int, work: Callable[[], ResultT]) -> Sequence[ResultT]:
    """What `work` answers, done by so many threads that begin at the same moment."""
    gate = threading.Barrier(count)

    def do() -> ResultT:
        gate.wait()
        return work()

    with ThreadPoolExecutor(count) as threads:
        return [future.result() for future in [threads.submit(do) for _ in range(count)]]


@contextmanager
def scripted_model() -> Generator[str]:
    """The address of a scripted model that is a process of its own, so that it shares no interpreter with anybody."""
    with subprocess.Popen([sys.executable, str(MODEL_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as model:
        assert model.stdout is not None
        yield model.stdout.readline().decode().strip()
        model.communicate()


def until(condition: Callable[[], object], *, limit: timedelta = timedelta(seconds=30)) -> None:
    """Return once the condition holds; a benchmark that waits too long is broken."""
    give_up = time.monotonic() + limit.total_seconds()
    while not condition():
        if time.monotonic() > give_up:
            raise SystemExit("something did not come true")
        time.sleep(LOOK_AGAIN.total_seconds())
