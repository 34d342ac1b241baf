"""Sessions that come and go leave nothing: no thread, descriptor, process, pane, buffer or file, and no memory."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from mcp_agent.sessions.closing import processes_of
from mcp_agent.tmux.process import Tmux, scrubbed_environment

if TYPE_CHECKING:
    from tests.server.conftest import Server

AT_A_TIME = 3
MEBIBYTE = 1024 * 1024
TICK_SECONDS = 60
"""A timer of tmux cannot be called off: 1 KB of a session, its clock's next tick, is there until it was due."""
MOST_BYTES_PER_SESSION = 100 * 1024
"""What the server may remember of a session that is over."""

pytestmark = pytest.mark.contract("S8")


@dataclass(frozen=True)
class Left:
    """What can be left behind by sessions, counted."""

    descriptors: int
    children: int
    panes: int
    buffers: int
    files: frozenset[str]


def left(server: Server) -> Left:
    process = psutil.Process(server.pid)
    return Left(
        descriptors=process.num_fds(),
        children=len(process.children(recursive=True)),
        panes=len(tmux(server, "list-panes", "-a", "-F", "#{pane_id}")),
        buffers=len(tmux(server, "list-buffers")),
        files=files_of(server),
    )


def files_of(server: Server) -> frozenset[str]:
    """All in the places of this server, but the records of sessions that are over and what the CLI itself remembers."""
    state = [path for path in server.state.root.rglob("*") if not is_record(server, path)]
    work = [path for path in server.work.rglob("*") if path.suffix != ".jsonl"]
    return frozenset(map(str, [*state, *work]))


def is_record(server: Server, path: Path) -> bool:
    """The record of a session, or its directory."""
    place = path.relative_to(server.state.root).parts
    return place[0] == server.state.sessions.name and (len(place) <= 2 or place[2:] == ("session.json",))


def tmux(server: Server, *words: str) -> list[str]:
    argv = Tmux.at(server.state.tmux_socket).argv("-N", *words)
    return subprocess.check_output(argv, env=scrubbed_environment(os.environ), text=True).splitlines()


def memory_of_tmux(server: Server) -> int:
    [pid] = set(tmux(server, "display-message", "-p", "#{pid}"))
    return int(psutil.Process(int(pid)).memory_info().rss)


def wait_for_memory_of_tmux(server: Server, *, at_most: float) -> None:
    deadline_seconds = time.monotonic() + 1.5 * TICK_SECONDS
    while (found := memory_of_tmux(server)) > at_most:
        assert time.monotonic() < deadline_seconds, (found, at_most)
        time.sleep(1)


def cycle(server: Server, number: int) -> None:
    """One session from its start to its stop, with a turn in between; the CLI of every third is killed."""
    session = server.start_session()
    send = server.client.post(f"/sessions/{session}/send", {"text": f"hello {number}"}, waits=True)
    assert send["outcome"] == "delivered"
    if number % 3 == 0:
        os.kill(pid_of(server, session), signal.SIGKILL)
        server.client.wait(f"/sessions/{session}/turns/{send['turn_id']}?wait_seconds=30")
    server.client.post(f"/sessions/{session}/stop", waits=True)
    assert processes_of(session) == []


def pid_of(server: Server, session: str) -> int:
    pane: Any = server.client.get(f"/sessions/{session}")["pane"]
    return int(pane["pid"])


def cycles(server: Server, count: int) -> None:
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        list(threads.map(lambda number: cycle(server, number), range(count)))


@contextmanager
def nothing_left(server: Server, *, sessions: int, warm_up_seconds: float = 0) -> Iterator[None]:
    """One session lives on, so that the tmux server does too; what is there before is there afterwards, and no more."""
    kept = server.start_session()
    warm_from = time.monotonic() + warm_up_seconds
    cycles(server, 2 * AT_A_TIME)
    while time.monotonic() < warm_from:
        cycles(server, 2 * AT_A_TIME)
    process = psutil.Process(server.pid)
    before, threads = left(server), process.num_threads()
    memory, tmux_memory = process.memory_info().rss, memory_of_tmux(server)
    yield
    assert process.num_threads() <= threads + AT_A_TIME
    after = left(server)
    # A connection that is kept for its next request comes and goes; a leak would be one for every session.
    assert after.descriptors <= before.descriptors + AT_A_TIME
    assert replace(after, descriptors=before.descriptors) == before, (after.files ^ before.files, after, before)
    assert process.memory_info().rss <= memory + 8 * MEBIBYTE + sessions * MOST_BYTES_PER_SESSION
    wait_for_memory_of_tmux(server, at_most=tmux_memory * 1.1)
    assert server.client.get(f"/sessions/{kept}")["state"] == "ready"


def test_thirty_sessions_come_and_go_and_leave_nothing(server: Server) -> None:
    with nothing_left(server, sessions=30):
        cycles(server, 30)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_five_hundred_sessions_come_and_go_and_leave_nothing(server: Server) -> None:
    with nothing_left(server, sessions=500, warm_up_seconds=1.2 * TICK_SECONDS):
        cycles(server, 500)
