"""Starting the server when none answers, under a lock, so that any number of callers get one server."""

import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from mcp_agent.config import DATABASE_VARIABLE
from mcp_agent.disk import check_writable
from mcp_agent.errors import BadConfiguration, ServerStartFailed, SignalRefused
from mcp_agent.processes import ProcessIdentity, send_signal
from mcp_agent.sessions.environment import COMMON
from mcp_agent.state import HOME_VARIABLE, StateDirectory
from mcp_agent.timeouts import SETTING_VARIABLES

PACKAGE = Path(__file__).parents[1]
"""Where this program is installed: two checkouts may share a state directory, and so a server."""

STARTS_WITHIN = timedelta(seconds=20)
UNREACHABLE_AFTER = timedelta(seconds=5)
"""A server that holds the lock and has said that it listens, and does not, has lost its socket."""
LOOK_AGAIN_AFTER = timedelta(milliseconds=50)
READY_FD_VARIABLE = "MCP_AGENT_READY_FD"
"""The descriptor that a starting server writes one byte to once it listens."""
ALREADY_RUNNING_EXIT = 75
"""What a server exits with when another one holds the lock."""
START_LOCK_SUFFIX = ".start-lock"
"""Beside the socket: held by whoever starts a server, a bridge too."""


def server_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a server sees of its starter's variables: an allow-list, and no credentials."""
    kept = {HOME_VARIABLE, DATABASE_VARIABLE, *COMMON, *SETTING_VARIABLES}
    return {name: value for name, value in environ.items() if name in kept or name.startswith("LC_")}


def start_server(state: StateDirectory, environ: Mapping[str, str]) -> bool:
    """Return once a server listens; False when another caller had started it by then.

    Raises `ServerStartFailed` with the end of its log, `BadConfiguration` when the state directory cannot be used.
    """
    state.create()
    deadline = time.monotonic() + STARTS_WITHIN.total_seconds()
    with _start_lock(state):
        unreachable_after = time.monotonic() + UNREACHABLE_AFTER.total_seconds()
        while not is_listening(state):
            if _run_server(state, environ):
                return True
            if time.monotonic() > unreachable_after:
                _end_unreachable(state)
            if time.monotonic() > deadline:
                raise ServerStartFailed("another one holds its lock, and does not listen", state.log)
            time.sleep(LOOK_AGAIN_AFTER.total_seconds())
    return False


def _end_unreachable(state: StateDirectory) -> None:
    """Ask the server of this directory to end: its socket was removed, and nobody can reach it any more."""
    with suppress(OSError, ValueError, SignalRefused):
        send_signal(ProcessIdentity.from_json(json.loads(state.server_record.read_bytes())), signal.SIGTERM)


def is_listening(state: StateDirectory) -> bool:
    """Whether somebody takes connections on the socket; whether they are answered is another question."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(STARTS_WITHIN.total_seconds())
        try:
            probe.connect(str(state.server_socket))
        except OSError:
            return False
    return True


def holds_lock(state: StateDirectory) -> bool:
    """Whether a server of this directory lives, one that is starting, stopping or stuck included."""
    try:
        descriptor = os.open(state.lock, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def _start_lock(state: StateDirectory) -> Generator[None]:
    path = state.server_socket.with_name(state.server_socket.name + START_LOCK_SUFFIX)
    with _usable(state):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _usable(state: StateDirectory) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise BadConfiguration(state.root, f"cannot be written to: {error.strerror or error}") from error


def _run_server(state: StateDirectory, environ: Mapping[str, str]) -> bool:
    """Start one server; True once it listens, False when another one holds the lock."""
    read_end, write_end = os.pipe()
    try:
        process = _spawn(state, environ, ready=write_end)
    except BaseException:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    try:
        ready = _said_ready(read_end)
    finally:
        os.close(read_end)
    if ready:
        _disown(process)
        return True
    _refuse_failure(process, state)
    return False


def _spawn(state: StateDirectory, environ: Mapping[str, str], *, ready: int) -> "subprocess.Popen[bytes]":
    variables = {**server_environment(environ), HOME_VARIABLE: str(state.root), READY_FD_VARIABLE: str(ready)}
    with _usable(state):
        log = os.open(state.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "mcp_agent.server"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=variables,
            pass_fds=(ready,),
            start_new_session=True,
        )
    finally:
        os.close(log)


def _said_ready(read_end: int) -> bool:
    readable, _, _ = select.select([read_end], [], [], STARTS_WITHIN.total_seconds())
    return bool(readable) and os.read(read_end, 1) != b""


def _refuse_failure(process: "subprocess.Popen[bytes]", state: StateDirectory) -> None:
    """Raise why no word of readiness came, unless it is that another server was faster."""
    try:
        status = process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        check_writable(state.root)
        raise ServerStartFailed(f"it did not listen within {STARTS_WITHIN.total_seconds():g} s", state.log) from None
    if status != ALREADY_RUNNING_EXIT:
        check_writable(state.root)
        raise ServerStartFailed(_last_line(state) or f"it ended with status {status}", state.log)


def _disown(process: "subprocess.Popen[bytes]") -> None:
    """The server outlives us by design; Popen would warn about it when it is collected."""
    process.returncode = 0


def _last_line(state: StateDirectory) -> str:
    with suppress(OSError):
        lines = state.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
    return ""
