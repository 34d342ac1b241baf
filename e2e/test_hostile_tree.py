"""However a shell command is cancelled, nothing is left of a process tree that does not want to end."""

import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e import hostile_tree
from e2e.bridges import SHELL, Bridge, posted
from e2e.fifo import Fifo
from e2e.place import Place
from mcp_agent.processes import CALL_MARK, SESSION_MARK, ProcessIdentity, identify, is_alive, marked, send_signal

AT_ONCE = 5
WORK_LIMIT_SECONDS = 4

RUNS = pytest.mark.parametrize("runs", [5, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(900)])])

pytestmark = pytest.mark.contract("C3")


@dataclass(frozen=True)
class Tree:
    """One hostile tree that is complete."""

    place: Place
    call_id: str
    processes: Sequence[ProcessIdentity]

    def assert_settled(self, why_ended: str) -> None:
        """Wait until nothing more is to be learned of its call, and see what it came to."""
        done = self.place.run("calls", "wait", self.call_id, "--timeout", "60s", "--json")
        assert done.status == 0, done.out + done.err
        assert (done.json["why_ended"], done.json["happened"]) == (why_ended, "cancelled")

    def assert_gone(self) -> None:
        left = [process for process in self.processes if is_alive(process)]
        for process in left:  # so that a failing test leaves none of them behind
            send_signal(process, signal.SIGKILL)
        assert (left, marked(CALL_MARK, self.call_id)) == ([], [])


@dataclass(frozen=True)
class Told:
    """Where one tree tells its pids, and the command that makes it."""

    place: Place
    fifo: Fifo

    @property
    def command(self) -> str:
        return shlex.join([sys.executable, "-I", "-S", str(hostile_tree.__file__), str(self.fifo.path)])

    def tree(self) -> Tree:
        call_id, *pids = self.fifo.lines(1 + hostile_tree.PROCESSES)
        found = [identity for identity in map(identify, map(int, pids)) if identity is not None]
        assert len(set(found)) == hostile_tree.PROCESSES
        return Tree(self.place, call_id, found)


Cut = Callable[[Place, str, Told], Tree]
"""Starts a tree in a session and cancels it; its call is settled on return."""


def close_the_connection(place: Place, session: str, told: Told) -> Tree:
    with posted(place, session, SHELL, command=told.command):
        tree = told.tree()
    tree.assert_settled("cancel")
    return tree


def send_a_cancellation(place: Place, session: str, told: Told) -> Tree:
    with Bridge.of(place, session) as bridge:
        call = bridge.call(SHELL, command=told.command)
        tree = told.tree()
        bridge.cancel(call)
        tree.assert_settled("cancel")
        assert not call.is_answered
    return tree


def kill_the_bridge(place: Place, session: str, told: Told) -> Tree:
    with Bridge.of(place, session) as bridge:
        bridge.call(SHELL, command=told.command)
        tree = told.tree()
        bridge.kill()
        tree.assert_settled("cancel")
    return tree


@pytest.mark.contract("C1", "C2")
@pytest.mark.parametrize("cut", [close_the_connection, send_a_cancellation, kill_the_bridge])
@RUNS
def test_a_caller_that_leaves_takes_the_whole_tree_with_it(place: Place, cut: Cut, runs: int) -> None:
    session = start(place)

    def run(number: int) -> None:
        with told_by_tree(place, number) as told:
            cut(place, session, told).assert_gone()

    every(run, runs)
    assert place.run("session", "stop", session).status == 0
    assert_nothing_left(place)


@pytest.mark.contract("C5", "S8")
@RUNS
def test_a_stopped_session_takes_the_whole_tree_with_it(place: Place, runs: int) -> None:
    def run(number: int) -> None:
        session = start(place)
        with told_by_tree(place, number) as told, Bridge.of(place, session) as bridge:
            bridge.call(SHELL, command=told.command)
            tree = told.tree()
            (stopped,) = place.run("session", "stop", session, "--json").list_of("sessions")
            assert stopped["cancelled_calls"] == 1
            assert marked(SESSION_MARK, session) == []
            tree.assert_gone()
            tree.assert_settled("cancel")

    every(run, runs)
    assert_nothing_left(place)


@pytest.mark.contract("C4", "T8")
@RUNS
def test_the_limit_of_the_work_ends_the_whole_tree(place: Place, runs: int) -> None:
    session = start(place, TOOL_EXECUTION_TIMEOUT=f"{WORK_LIMIT_SECONDS}s")

    def run(number: int) -> None:
        with told_by_tree(place, number) as told, Bridge.of(place, session) as bridge:
            call = bridge.call(SHELL, command=told.command)
            tree = told.tree()
            assert "CANCELED: layer=server_tool" in call.answer().text
            tree.assert_gone()
            tree.assert_settled("server_tool")

    every(run, runs)
    assert place.run("session", "stop", session).status == 0
    assert_nothing_left(place)


def start(place: Place, **variables: str) -> str:
    done = place.run("session", "start", "-p", "scripted", "--trust", **variables)
    assert done.status == 0, done.err
    return done.out.strip()


@contextmanager
def told_by_tree(place: Place, number: int) -> Iterator[Told]:
    with Fifo.at(Path(place.root) / f"told-{number}") as fifo:
        yield Told(place, fifo)


def every(run: Callable[[int], None], runs: int) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for _ in pool.map(run, range(runs)):
            pass


def assert_nothing_left(place: Place) -> None:
    assert place.run("server", "stop").status == 0
    assert (place.processes(), place.files()) == ([], [])
