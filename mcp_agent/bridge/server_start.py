"""Reach the tool server, and start it when nobody listens on its socket."""

import fcntl
import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import suppress

from .loop import Wait
from .session_file import Session
from .unix_http import Connection, NotSent

START_SECONDS = 10.0
RETRY_SECONDS = 0.05


def connect(session: Session, deadline: float) -> Generator[Wait, bool, Connection]:
    """A new connection, for which the server is started if need be. Raises NotSent when there is none in time."""
    began = time.monotonic()
    give_up = min(began + START_SECONDS, deadline)
    start = _Start(session)
    try:
        while (connection := _connected(session, start)) is None:
            if time.monotonic() >= give_up:
                raise NotSent(f"no server answered on {session.socket} within {give_up - began:.1f}s{start.note}")
            yield Wait(until=time.monotonic() + RETRY_SECONDS)
    finally:
        start.release()
    return connection


def _connected(session: Session, start: "_Start") -> Connection | None:
    try:
        return Connection(session.socket)
    except (ConnectionRefusedError, FileNotFoundError):
        start.advance()
        return None
    except BlockingIOError:  # its queue is full: a server is there, and busy
        return None
    except OSError as error:
        raise NotSent(f"the server's socket {session.socket} cannot be used ({error})") from error


class _Start:
    """At most one start, by whoever holds the lock beside the socket; a doubled one would be harmless."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock: int | None = None
        self._started = False
        self.note = ""

    def advance(self) -> None:
        """Take the lock; once it is ours and still nobody listens, start the server."""
        if self._lock is None:
            self._lock = _try_lock(self._session.socket + ".start-lock")
        elif not self._started:
            self._spawn()

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)

    def _spawn(self) -> None:
        argv = self._session.start_server
        try:
            pid = spawn_detached(argv, self._session.start_environment)
        except OSError as error:
            raise NotSent(f"the server could not be started with {argv[0]} ({error.strerror})") from error
        self._started = True
        threading.Thread(target=self._reap, args=(pid,), name="reaper", daemon=True).start()

    def _reap(self, pid: int) -> None:
        _, status = os.waitpid(pid, 0)
        self.note = f"; its start command ended with status {os.waitstatus_to_exitcode(status)}"


def _try_lock(path: str) -> int | None:
    """The lock's descriptor, or None while another bridge holds it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:  # no directory to lock in: the server makes it, and has a lock of its own
        return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def spawn_detached(argv: list[str], environment: dict[str, str]) -> int:
    """Start a program that outlives us and shares nothing with us: own session, no stdio, no descriptors, no cwd.

    The working directory is the bridge's own, which is `/`.
    """
    keep_descriptors_private()
    null = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in (0, 1, 2)]
    return os.posix_spawn(
        argv[0],
        argv,
        environment,
        file_actions=null,
        setsid=True,
        setsigmask=(),
        setsigdef=(signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ),
    )


def keep_descriptors_private() -> None:
    """Mark what the CLI left open in us, so that a long-lived server does not keep it open for ever."""
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - pathlib is slow
        if int(name) > 2:
            with suppress(OSError):
                os.set_inheritable(int(name), False)
