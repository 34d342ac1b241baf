"""The same facts where there is no `/proc`, by psutil. Best effort: no boot id, coarse start times."""

import os
from collections.abc import Iterator
from typing import NamedTuple

import psutil


class Facts(NamedTuple):
    """One line of the process table."""

    parent: int
    start_time: int
    """Microseconds since the epoch."""
    dead: bool


def facts(pid: int) -> Facts | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            return Facts(
                process.ppid(), int(process.create_time() * 1_000_000), process.status() == psutil.STATUS_ZOMBIE
            )
    except psutil.Error:
        return None


def boot_id() -> str | None:
    return None


def pids() -> Iterator[int]:
    return iter(psutil.pids())


def environment(pid: int) -> frozenset[bytes]:
    """The `NAME=value` entries that the program was started with; nothing when they may not be read."""
    try:
        pairs = psutil.Process(pid).environ().items()
    except psutil.Error:
        return frozenset()
    return frozenset(os.fsencode(f"{name}={value}") for name, value in pairs)
