"""The one place that signals."""

import os
import signal
from collections.abc import Iterator

from mcp_agent.errors import SignalRefused
from mcp_agent.processes import table
from mcp_agent.processes.identity import ProcessIdentity, is_alive


def send_signal(identity: ProcessIdentity, signal_number: int) -> bool:
    """Signal this very process; False when it is gone already.

    Raises SignalRefused for the init process, ourselves, our ancestors, and for what we may not signal.
    """
    _refuse_ours(identity.pid)
    try:
        return _send(identity, signal_number)
    except ProcessLookupError:
        return False
    except PermissionError as error:
        raise SignalRefused(identity.pid, "the system does not permit it") from error


def _refuse_ours(pid: int) -> None:
    if pid <= 1:
        raise SignalRefused(pid, "not the pid of an ordinary process")
    if pid == os.getpid():
        raise SignalRefused(pid, "that is this process itself")
    if pid in _ancestors():
        raise SignalRefused(pid, "this process runs below it")


def _ancestors() -> Iterator[int]:
    pid = os.getppid()
    while pid > 0:
        yield pid
        found = table.facts(pid)
        pid = 0 if found is None else found.parent


def _send(identity: ProcessIdentity, signal_number: int) -> bool:
    if not hasattr(os, "pidfd_open"):
        if is_alive(identity):
            os.kill(identity.pid, signal_number)
            return True
        return False
    # The descriptor pins the process first, so the pid cannot change hands between the check and the signal.
    descriptor = os.pidfd_open(identity.pid)
    try:
        if not is_alive(identity):
            return False
        signal.pidfd_send_signal(descriptor, signal_number)
        return True
    finally:
        os.close(descriptor)
