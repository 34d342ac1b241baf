"""A server that is killed, or that stops, with sessions in every state: the next one has them as they were."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from mcp_agent.bridge import BRIDGE_PROGRAM
from mcp_agent.errors import RemoteError, ServerUnreachable
from mcp_agent.server.client import Client
from mcp_agent.sessions.input.messages import MessageState
from mcp_agent.sessions.store.store import SessionStore
from tests.server.conftest import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.server.conftest import Server

pytestmark = pytest.mark.contract("S7", "S9")

ASKS = "run exactly this command: `true`"
FIRST = ("first", ASKS)
"""What begins the turns."""
RIGHT = {
    "ready": "ready",
    "queue": "ready",
    "busy": "busy",
    "waits": "waiting",
    "blocked": "blocked",
    "exited": "exited",
    "lost": "lost",
    "slow": "starting",
}
"""The state of each session by its name; stopped ones are on record only."""

Json = dict[str, Any]


@dataclass
class Fleet:
    """Sessions in every state, by name."""

    server: Server
    silent_model: str
    """A model server that takes every request and answers none."""
    ids: dict[str, str] = field(default_factory=dict)
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self, name: str, **body: object) -> str:
        home = self.home(name)
        home.mkdir(parents=True)
        asked = {
            "provider": "scripted",
            "working_directory": str(self.server.work),
            "trust": True,
            "name": name,
            **body,
        }
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
        session = self.server.client.post("/sessions", {"environment": environment, **asked}, waits=True)
        self.ids[name] = str(session["id"])
        return self.ids[name]

    def start_silent(self, name: str) -> None:
        """A session whose turns never end by themselves."""
        self.start(name, endpoint={"base_url": self.silent_model, "api_key": "k"})

    def start_slow(self, name: str) -> None:
        """A session whose CLI has not come to its prompt: it reads a pipe that nobody writes to yet."""
        self.pipe(name).parent.mkdir(parents=True)
        os.mkfifo(self.pipe(name))
        thread = threading.Thread(target=self._begin, args=(name,))
        thread.start()
        self.threads.append(thread)
        eventually(lambda: self.state(name) == "starting")
        self.ids[name] = str(self.session(name)["id"])

    def go_on(self, name: str) -> None:
        """Let the CLI of a slow session come to its prompt."""
        self.pipe(name).write_text(json.dumps([str(self.server.work)]))

    def _begin(self, name: str) -> None:
        home = self.home(name)
        body = {"provider": "scripted", "working_directory": str(self.server.work), "name": name}
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home)}
        with contextlib.suppress(ServerUnreachable, RemoteError):
            Client.connect(self.server.state).post("/sessions", {"environment": environment, **body}, waits=True)

    def send(self, name: str, text: str, mode: str = "now") -> Json:
        body = {"text": text, "mode": mode}
        return self.server.client.post(f"/sessions/{self.ids[name]}/send", body, waits=True)

    def session(self, name: str) -> Json:
        found: Any = self.server.client.get("/sessions")["sessions"]
        return next((session for session in found if session["name"] == name), {})

    def state(self, name: str) -> str | None:
        return self.session(name).get("state")

    def states(self) -> dict[str, str]:
        return {name: str(self.state(name)) for name in self.ids if name != "stopped"}

    def messages(self, name: str) -> dict[str, str]:
        """The state of each message that was queued."""
        found: Any = self.server.client.get(f"/sessions/{self.ids[name]}/messages")["messages"]
        return {message["text"]: message["state"] for message in found if message["text"] not in FIRST}

    def told(self, name: str) -> list[str]:
        """Every prompt that the CLI took, by its own transcript."""
        lines = [
            json.loads(line)
            for path in (self.home(name) / ".scripted-agent").glob("*.jsonl")
            for line in path.read_text().splitlines()
        ]
        return [str(line["text"]) for line in lines if line["type"] == "user"]

    def home(self, name: str) -> Path:
        return self.server.work / "homes" / name

    def pipe(self, name: str) -> Path:
        return self.home(name) / ".scripted-agent/trusted.json"


@pytest.fixture
def silent_model() -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def fleet(server: Server, silent_model: str) -> Iterator[Fleet]:
    fleet = Fleet(server, silent_model)
    yield fleet
    for thread in fleet.threads:
        thread.join(30)


def pane(session: Json) -> Json:
    return dict(session["pane"])


def tmux(server: Server, *command: str) -> str:
    argv = ["tmux", "-u", "-S", str(server.state.tmux_socket), *command]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def bring_about(fleet: Fleet) -> None:
    """Ten sessions: one in every state, and three with messages that wait."""
    for name in ("ready", "exited", "lost", "stopped", "waits"):
        fleet.start(name)
    fleet.start("blocked", trust=False)
    for name in ("busy", "queue", "crossed"):
        fleet.start_silent(name)
        fleet.send(name, "first")
    fleet.start_slow("slow")
    fleet.send("waits", ASKS)
    os.kill(pane(fleet.session("exited"))["pid"], signal.SIGKILL)
    tmux(fleet.server, "kill-window", "-t", pane(fleet.session("lost"))["window_id"])
    fleet.server.client.post(f"/sessions/{fleet.ids['stopped']}/stop", waits=True)
    for name, text in (("busy", "b-1"), ("busy", "b-2"), ("queue", "q-1"), ("waits", "w-1"), ("crossed", "c-1")):
        fleet.send(name, text, "queue")
    eventually(lambda: fleet.states() == BROUGHT_ABOUT)


BROUGHT_ABOUT = {**RIGHT, "queue": "busy", "crossed": "busy"}


def end(server: Server, how: str) -> None:
    if how == "killed":
        server.crash()
    else:
        server.client.post("/server/stop", waits=True)
        server.client.wait_until_gone()


@pytest.mark.contract("I5")
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_every_state_is_right_again_and_every_message_arrives_once_or_is_unconfirmed(fleet: Fleet, how: str) -> None:
    bring_about(fleet)
    end(fleet.server, how)
    with SessionStore.open(fleet.server.state.session_store) as store:
        [crossed] = store.messages(fleet.ids["crossed"], states={MessageState.WAITING})
        assert store.set_message(crossed.id, MessageState.SENDING, expected={MessageState.WAITING})

    fleet.server.start_again()

    eventually(lambda: fleet.states() == BROUGHT_ABOUT)
    assert fleet.session("stopped") == {}
    assert fleet.session("exited")["detail"] == "signal 9"
    assert fleet.messages("crossed") == {"c-1": "unconfirmed"}

    fleet.go_on("slow")
    eventually(lambda: fleet.state("slow") == "ready")
    for name in ("busy", "busy", "queue", "crossed"):
        before = len(fleet.told(name))
        fleet.server.client.post(f"/sessions/{fleet.ids[name]}/interrupt", waits=True)
        if name != "crossed":
            eventually(partial(has_more, fleet, name, before))
    tmux(fleet.server, "send-keys", "-t", pane(fleet.session("waits"))["pane_id"], "Enter")

    eventually(lambda: fleet.messages("waits") == {"w-1": "delivered"})
    eventually(lambda: fleet.messages("busy") == {"b-1": "delivered", "b-2": "delivered"})
    eventually(lambda: fleet.messages("queue") == {"q-1": "delivered"})
    assert fleet.told("busy") == ["first", "b-1", "b-2"]
    assert Counter(fleet.told("queue")) == {"first": 1, "q-1": 1}
    assert fleet.told("waits") == [ASKS, "w-1"]
    assert fleet.told("crossed") == ["first"]
    assert fleet.messages("crossed") == {"c-1": "unconfirmed"}


def test_a_killed_tmux_server_is_noticed_and_its_sessions_go_on_when_they_are_asked_to(fleet: Fleet) -> None:
    for name in ("one", "two"):
        fleet.start(name)
        fleet.send(name, f"hello {name}")
    fleet.start_silent("busy")
    turn = fleet.send("busy", "never answered")["turn_id"]

    os.kill(int(tmux(fleet.server, "display-message", "-p", "#{pid}")), signal.SIGKILL)

    eventually(lambda: set(fleet.states().values()) == {"lost"})
    failed = fleet.server.client.get(f"/sessions/{fleet.ids['busy']}/turns/{turn}")
    assert (failed["outcome"], failed["error"]) == ("failed", "the CLI's pane is gone")
    assert fleet.send("one", "again")["outcome"] == "delivered"
    eventually(lambda: fleet.told("one") == ["hello one", "again"])
    eventually(lambda: (fleet.state("one"), fleet.state("two")) == ("ready", "lost"))
    assert fleet.server.client.post(f"/sessions/{fleet.ids['two']}/resume", waits=True)["state"] == "ready"
    assert len(tmux(fleet.server, "list-windows", "-a", "-F", "#{@mcp_tags}").split()) >= 2


def test_a_tmux_server_that_hangs_loses_no_session(fleet: Fleet) -> None:
    fleet.start("one")
    tmux_server = int(tmux(fleet.server, "display-message", "-p", "#{pid}"))
    os.kill(tmux_server, signal.SIGSTOP)
    try:
        with pytest.raises(RemoteError, match="nothing was sent"):
            fleet.send("one", "hello")
        assert fleet.state("one") == "ready"
    finally:
        os.kill(tmux_server, signal.SIGCONT)
    eventually(lambda: _delivered(fleet, "one"))
    assert fleet.told("one") == ["hello"]


def has_more(fleet: Fleet, name: str, before: int) -> bool:
    return len(fleet.told(name)) > before


def _delivered(fleet: Fleet, name: str) -> bool:
    with contextlib.suppress(RemoteError):
        return bool(fleet.send(name, "hello")["outcome"] == "delivered")
    return False


@pytest.mark.parametrize("how", ["killed", pytest.param("stopped", marks=pytest.mark.long)])
def test_a_resumed_session_knows_what_was_told_before(fleet: Fleet, how: str) -> None:
    """Its CLI goes on with the same transcript, and its turns are the same session's, over a restart of the server."""
    fleet.start("one")
    first = fleet.send("one", "the word is canary")["turn_id"]
    fleet.server.client.wait(f"/sessions/{fleet.ids['one']}/turns/{first}?wait_seconds=30")
    native = fleet.session("one")["native_session_id"]
    os.kill(int(tmux(fleet.server, "display-message", "-p", "#{pid}")), signal.SIGKILL)
    end(fleet.server, how)
    fleet.server.start_again()

    second = fleet.send("one", "and now?")["turn_id"]

    fleet.server.client.wait(f"/sessions/{fleet.ids['one']}/turns/{second}?wait_seconds=30")
    shown: Any = fleet.server.client.get(f"/sessions/{fleet.ids['one']}")
    assert shown["native_session_id"] == native
    assert [turn["id"] for turn in shown["turns"]] == [first, second]
    assert "the word is canary" in "\n".join(shown["screen"])
    assert fleet.told("one") == ["the word is canary", "and now?"]


def test_two_state_directories_side_by_side_know_nothing_of_each_other(fleet: Fleet, short_tmp: Path) -> None:
    fleet.start("one")
    other = type(fleet.server.state)(short_tmp / "other")
    with Client.connect(other) as client:
        assert client.get("/sessions") == {"sessions": []}
        client.post("/server/stop?now=true", waits=True)
        client.wait_until_gone()
    assert fleet.state("one") == "ready"
    assert fleet.send("one", "hello")["outcome"] == "delivered"


@pytest.mark.contract("B6")
@pytest.mark.parametrize("restarted", [False, True])
def test_a_bridge_that_died_is_told_of_and_its_session_lives(fleet: Fleet, restarted: bool) -> None:
    fleet.start("one")
    cli = pane(fleet.session("one"))["pid"]
    if restarted:
        end(fleet.server, "stopped")
        fleet.server.start_again()
    assert fleet.session("one")["bridge"] == "connected"
    [bridge] = [child for child in psutil.Process(cli).children() if str(BRIDGE_PROGRAM) in child.cmdline()]

    bridge.kill()

    eventually(lambda: fleet.session("one")["bridge"] == "gone")
    assert fleet.state("one") == "ready"
    fleet.server.client.post(f"/sessions/{fleet.ids['one']}/stop", waits=True)
    resumed = fleet.server.client.post(f"/sessions/{fleet.ids['one']}/resume", waits=True)
    assert resumed["bridge"] == "connected"
