"""End a set of processes and see that they are gone."""

import os
import signal
from collections.abc import Callable, Iterable
from datetime import timedelta

import anyio

from mcp_agent.errors import SignalRefused
from mcp_agent.processes.identity import ProcessIdentity, is_alive
from mcp_agent.processes.signalling import send_signal

KILL_WAIT = timedelta(seconds=1)
"""How long one round of KILL may take to show."""

KILL_ROUNDS = 5
"""Rounds of looking again for what was started meanwhile."""

POLL = timedelta(milliseconds=20)
"""Between looks at a process where no descriptor tells of its end."""

Find = Callable[[], Iterable[ProcessIdentity]]


async def reap(processes: Iterable[ProcessIdentity] | Find, *, grace: timedelta) -> list[ProcessIdentity]:
    """End processes: TERM, a grace, then KILL, looking again until none is left. Answers what would not end.

    Given a function, it is asked again each round and so finds what was started meanwhile. This process and its
    ancestors are never signalled; they count as survivors when they are named.
    """
    find = processes if callable(processes) else _fixed(processes)
    targets = await _signal_all(find, signal.SIGTERM)
    await wait_gone(targets, limit=grace)
    for _ in range(KILL_ROUNDS):
        targets = await _signal_all(find, signal.SIGKILL)
        if not targets:
            break
        await wait_gone(targets, limit=KILL_WAIT)
    return await _alive(find)


async def wait_gone(processes: Iterable[ProcessIdentity], *, limit: timedelta) -> bool:
    """Wait until every process has ended; False when the limit came first."""
    with anyio.move_on_after(limit.total_seconds()) as scope:
        for process in processes:
            await _gone(process)
    return not scope.cancelled_caught


def _fixed(processes: Iterable[ProcessIdentity]) -> Find:
    named = tuple(processes)
    return lambda: named


async def _alive(find: Find) -> list[ProcessIdentity]:
    return [process for process in await anyio.to_thread.run_sync(lambda: list(find())) if is_alive(process)]


async def _signal_all(find: Find, signal_number: int) -> list[ProcessIdentity]:
    return [process for process in await _alive(find) if _signalled(process, signal_number)]


def _signalled(process: ProcessIdentity, signal_number: int) -> bool:
    try:
        return send_signal(process, signal_number)
    except SignalRefused:
        return False


async def _gone(process: ProcessIdentity) -> None:
    if not hasattr(os, "pidfd_open"):
        while is_alive(process):  # noqa: ASYNC110 - no event of the system tells of it here
            await anyio.sleep(POLL.total_seconds())
        return
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if is_alive(process):
            await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)
