"""What `/proc` says about processes. A process that is gone is no error: it answers None."""

import os
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

DEAD_STATES = frozenset("ZXx")


class Facts(NamedTuple):
    """One line of the process table."""

    parent: int
    start_time: int
    """Clock ticks since boot."""
    dead: bool
    """Ended already; a zombie still has its line."""


def facts(pid: int) -> Facts | None:
    stat = _read(f"/proc/{pid}/stat")
    if stat is None:
        return None
    # The second field is the program's name in parentheses and may hold anything, parentheses and spaces included.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return Facts(int(fields[1]), int(fields[19]), fields[0].decode() in DEAD_STATES)


@cache
def boot_id() -> str | None:
    text = _read("/proc/sys/kernel/random/boot_id")
    return None if text is None else text.decode().strip()


def pids() -> Iterator[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 - one scan, names only


def environment(pid: int) -> frozenset[bytes]:
    """The `NAME=value` entries that the program was started with; nothing when they may not be read."""
    return frozenset((_read(f"/proc/{pid}/environ") or b"").split(b"\0"))


def _read(path: str) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return b"".join(iter(lambda: os.read(descriptor, 65536), b"")) or None
    except OSError:
        return None
    finally:
        os.close(descriptor)
