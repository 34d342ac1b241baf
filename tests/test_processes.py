"""Processes are named so that no other is mistaken for them, and only those are signalled."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta

import anyio
import pytest

from mcp_agent.errors import SignalRefused
from mcp_agent.processes import (
    ProcessIdentity,
    descendants,
    facts_portable,
    identify,
    is_alive,
    marked,
    send_signal,
    table,
    with_descendants,
)
from mcp_agent.processes.reaping import reap, wait_gone

NOW = timedelta(0)
LONG = timedelta(seconds=20)


class Started:
    """Processes that are ended after the test."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def sleep(self, **environment: str) -> tuple[subprocess.Popen[str], ProcessIdentity]:
        return self.shell("echo; exec sleep 300", **environment)

    def shell(self, script: str, **environment: str) -> tuple[subprocess.Popen[str], ProcessIdentity]:
        """Run a script; returns when it has written a line."""
        process = subprocess.Popen(
            ["/bin/sh", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env={"PATH": os.environ["PATH"], **environment},
        )
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        assert process.stdout
        process.stdout.readline()
        identity = identify(process.pid)
        assert identity
        self._stack.callback(_end_tree, identity)
        return process, identity


def _end_tree(root: ProcessIdentity) -> None:
    """Runs before the root itself is ended: what has lost its parent is not found any more."""
    for process in with_descendants([root]):
        send_signal(process, signal.SIGKILL)


@pytest.fixture
def started() -> Iterator[Started]:
    with ExitStack() as stack:
        yield Started(stack)


def test_an_identity_survives_json() -> None:
    me = identify(os.getpid())
    assert me
    assert ProcessIdentity.from_json(me.to_json()) == me


@pytest.mark.parametrize(
    "record", [{}, {"pid": "1"}, {"pid": 1, "start_time": None}, {"pid": 1, "start_time": 1, "boot_id": 1}]
)
def test_a_record_without_an_identity_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no process identity"):
        ProcessIdentity.from_json(record)


def test_a_running_process_is_alive_and_a_zombie_is_not(started: Started) -> None:
    process, identity = started.sleep()
    assert is_alive(identity)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(identity)
    assert identify(process.pid) == identity
    process.wait()
    assert identify(process.pid) is None


def test_a_program_with_brackets_and_spaces_in_its_name_is_read_right(started: Started) -> None:
    process, _ = started.shell("printf 'a) R 1 (b' > /proc/$$/comm; echo; sleep 300; :")
    identity = identify(process.pid)
    assert identity
    assert is_alive(identity)
    assert identity in descendants(_me())


@pytest.mark.contract("S9")
@pytest.mark.parametrize("change", [{"start_time": 1}, {"boot_id": "another"}])
def test_another_process_with_the_same_pid_is_neither_alive_nor_signalled(
    started: Started, change: dict[str, int | str]
) -> None:
    process, identity = started.sleep()
    other = ProcessIdentity.from_json(identity.to_json() | change)
    assert not is_alive(other)
    assert not send_signal(other, signal.SIGKILL)
    assert process.poll() is None


def test_a_signal_reaches_its_process_and_a_gone_one_is_no_error(started: Started) -> None:
    process, identity = started.sleep()
    assert send_signal(identity, signal.SIGUSR1)
    assert process.wait(20) == -signal.SIGUSR1
    assert not send_signal(identity, signal.SIGTERM)


def test_ourselves_our_ancestors_and_special_pids_are_never_signalled() -> None:
    parent = identify(os.getppid())
    assert parent
    for identity in (_me(), parent, *(ProcessIdentity(pid, 0, None) for pid in (1, 0, -1, -os.getpgrp()))):
        with pytest.raises(SignalRefused):
            send_signal(identity, signal.SIGCONT)


def test_descendants_are_found_across_sessions_nearest_first(started: Started) -> None:
    _, root = started.shell("sh -c 'setsid sh -c \"sleep 300 & echo; wait\"; :'; :")
    below = descendants(root)
    assert len(below) == 3
    assert {process.pid for process in with_descendants([root, below[0]])} == {
        root.pid,
        *(child.pid for child in below),
    }
    assert descendants(below[0]) == below[1:]
    assert descendants(root._replace(start_time=1)) == []


def test_a_mark_finds_what_forked_away(started: Started) -> None:
    _, other = started.sleep(MARK="2")
    process, _ = started.shell("(setsid sleep 300 >&- & ); echo", MARK="1")
    process.wait(20)
    found = marked("MARK", "1")
    assert len(found) == 1
    assert other not in found
    assert identify(found[0].pid) == found[0]
    send_signal(found[0], signal.SIGKILL)


@pytest.mark.anyio
async def test_reaping_asks_first_and_then_kills(started: Started) -> None:
    polite, first = started.sleep()
    deaf, second = started.shell("trap '' TERM; echo; while :; do sleep 0.1; done")
    with anyio.fail_after(LONG.total_seconds()):
        assert await reap([first, second], grace=timedelta(milliseconds=100)) == []
    assert (polite.wait(20), deaf.wait(20)) == (-signal.SIGTERM, -signal.SIGKILL)


@pytest.mark.anyio
async def test_reaping_looks_again_for_what_was_started_meanwhile(started: Started) -> None:
    started.shell("trap 'setsid sleep 300 & exit' TERM; echo; while :; do sleep 0.1; done", MARK="reap")
    with anyio.fail_after(LONG.total_seconds()):
        assert await reap(lambda: marked("MARK", "reap"), grace=LONG) == []
    assert marked("MARK", "reap") == []


@pytest.mark.anyio
async def test_reaping_never_touches_this_process_and_says_that_it_survived(started: Started) -> None:
    _, other = started.sleep()
    assert await reap([_me(), other], grace=NOW) == [_me()]


@pytest.mark.anyio
async def test_a_wait_for_what_does_not_end_is_bounded(started: Started) -> None:
    process, identity = started.sleep()
    assert not await wait_gone([identity], limit=timedelta(milliseconds=10))
    process.kill()
    assert await wait_gone([identity], limit=LONG)
    assert await wait_gone([identity._replace(start_time=1)], limit=LONG)


def test_the_portable_process_table_tells_the_same_as_the_native_one(started: Started) -> None:
    process, _ = started.sleep(MARK="3")
    for pid in (process.pid, os.getpid()):
        native, portable = table.facts(pid), facts_portable.facts(pid)
        assert native and portable
        assert (native.parent, native.dead) == (portable.parent, portable.dead)
    assert b"MARK=3" in facts_portable.environment(process.pid) & table.environment(process.pid)
    assert process.pid in set(facts_portable.pids()) & set(table.pids())
    process.kill()
    process.wait()
    assert facts_portable.facts(process.pid) is None
    assert facts_portable.environment(process.pid) == table.environment(process.pid) - {b""} == frozenset()


def test_the_supervisors_part_imports_no_library() -> None:
    script = "import sys, mcp_agent.tools.supervisor; print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True).stdout
    assert not {"anyio", "pydantic", "psutil", "asyncio", "dataclasses", "inspect"} & set(loaded.split())


def _me() -> ProcessIdentity:
    me = identify(os.getpid())
    assert me
    return me
