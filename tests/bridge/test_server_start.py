"""A socket that refuses: the server is started once, for everybody, or the call was honestly not started."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.bridge.conftest import Bridge, FakeServer

PROGRAM = Path(__file__).with_name("started_server.py")
SHORT = {"ordinary_seconds": 0.3, "long_running_seconds": 0.3}


class Startable:
    """A server that is not there yet; it is killed after the test, however often it was started."""

    def __init__(self, directory: Path) -> None:
        self.socket, self.notes = directory / "server.sock", directory / "starts"
        self.command = [sys.executable, "-I", str(PROGRAM), str(self.socket), str(self.notes)]

    def starts(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.notes.read_text().splitlines()] if self.notes.exists() else []


@pytest.fixture
def startable(short_tmp: Path) -> Iterator[Startable]:
    startable = Startable(short_tmp)
    yield startable
    for start in startable.starts():
        os.kill(start["pid"], signal.SIGKILL)


@pytest.mark.contract("B2")
def test_the_first_request_starts_the_server_as_the_session_file_says(
    startable: Startable, start: Callable[..., Bridge]
) -> None:
    inherited = os.pipe()
    os.set_inheritable(inherited[1], True)
    bridge = start(start_server=startable.command, start_environment={"PATH": "/usr/bin:/bin", "ONLY": "this"})
    bridge.call(1, "echo", x=1)

    assert bridge.text(1) == '{"x":1}'
    for descriptor in inherited:
        os.close(descriptor)
    [started] = startable.starts()
    assert started["environment"] == {"PATH": "/usr/bin:/bin", "ONLY": "this"}
    assert started["files"] == dict.fromkeys(("0", "1", "2"), "/dev/null")
    assert started["leads_its_session"]
    assert started["interrupt"]
    assert started["directory"] == "/"


@pytest.mark.contract("B2")
def test_a_stale_socket_is_no_server(startable: Startable, start: Callable[..., Bridge]) -> None:
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(startable.socket))
    bridge = start(start_server=startable.command)

    assert bridge.ask("tools/list")["result"]["tools"][0]["name"] == "echo"
    assert len(startable.starts()) == 1


@pytest.mark.contract("B2")
def test_many_calls_of_several_bridges_start_the_server_once(
    startable: Startable, start: Callable[..., Bridge]
) -> None:
    bridges = [start(start_server=startable.command) for _ in range(3)]
    for number in range(5):
        for bridge in bridges:
            bridge.call(number, "echo", number=number)

    assert all(bridge.text(number) == f'{{"number":{number}}}' for number in range(5) for bridge in bridges)
    assert len(startable.starts()) == 1


@pytest.mark.contract("B2")
def test_the_server_outlives_the_bridge_that_started_it(startable: Startable, start: Callable[..., Bridge]) -> None:
    first = start(start_server=startable.command)
    first.ask("tools/list")
    assert first.end() == 0
    second = start(start_server=["/bin/false"])

    assert second.ask("tools/list")["result"]["tools"]
    assert len(startable.starts()) == 1


@pytest.mark.contract("B2", "T9")
def test_a_server_that_never_comes_means_not_started(short_tmp: Path, start: Callable[..., Bridge]) -> None:
    bridge = start(start_server=["/bin/sh", "-c", "exit 3"], limits=SHORT)
    bridge.call(1, "echo")
    text = bridge.text(1)

    assert text.startswith("ERROR: layer=bridge_http owner=mcpbridge tool=echo session=s-1 timeout=0.3s elapsed=")
    assert " outcome=not_started: no server answered on " in text
    assert "ended with status 3" in text
    assert "safe to do it again" in text
    assert bridge.lives()


@pytest.mark.contract("B2")
def test_a_start_command_that_does_not_exist_means_not_started(start: Callable[..., Bridge]) -> None:
    bridge = start(start_server=["/nowhere/python"])
    bridge.call(1, "echo")

    assert "outcome=not_started: the server could not be started with /nowhere/python (No such file" in bridge.text(1)


@pytest.mark.contract("B2")
def test_a_socket_path_that_cannot_be_used_means_not_started(start: Callable[..., Bridge]) -> None:
    bridge = start(socket="/tmp/" + "x" * 200)
    bridge.call(1, "echo")

    assert "outcome=not_started: the server's socket" in bridge.text(1)


@pytest.mark.contract("B2")
def test_a_server_whose_queue_is_full_is_waited_for_and_not_started_again(
    startable: Startable, start: Callable[..., Bridge]
) -> None:
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as first:
        busy.bind(str(startable.socket))
        busy.listen(0)
        first.connect(str(startable.socket))
        bridge = start(start_server=startable.command, limits=SHORT)
        bridge.call(1, "echo")

        assert " outcome=not_started: no server answered " in bridge.text(1)
    assert startable.starts() == []


@pytest.mark.contract("C2")
def test_a_call_cancelled_while_the_server_starts_is_neither_sent_nor_answered(
    short_tmp: Path, start: Callable[..., Bridge], request: pytest.FixtureRequest
) -> None:
    bridge = start(start_server=["/bin/true"])
    bridge.call(1, "echo")
    bridge.send("notifications/cancelled", {"requestId": 1})
    assert bridge.lives()
    server: FakeServer = request.getfixturevalue("server")
    bridge.call(2, "echo", n=2)

    assert bridge.text(2) == '{"n":2}'
    assert len(server.calls()) == 1
    assert bridge.end() == 0
    assert bridge.messages == []
