"""The life of one server: lock, socket, record, requests, and everything put away at the end."""

import asyncio
import fcntl
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from io import TextIOWrapper
from logging.handlers import TimedRotatingFileHandler
from typing import cast

import anyio
import uvicorn

from mcp_agent import __version__
from mcp_agent.config import load_config
from mcp_agent.errors import McpAgentError, ServerAlreadyRunning
from mcp_agent.processes import identify
from mcp_agent.server.app import create_app
from mcp_agent.server.lane import LaneProtocol
from mcp_agent.server.runtime import Runtime
from mcp_agent.server.starting import ALREADY_RUNNING_EXIT, READY_FD_VARIABLE, START_LOCK_SUFFIX
from mcp_agent.state import StateDirectory, write_private
from mcp_agent.tools.reconciling import KEPT_FOR

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 5
"""How long open requests may take to end once the server was told to stop."""

KEEP_ALIVE_SECONDS = 30
"""How long a connection may wait for its next request."""


def main(environ: Mapping[str, str]) -> int:
    """Serve until told to stop; the exit status."""
    state = StateDirectory.from_environment(environ)
    try:
        _hold_lock(state)
        state.ensure_owner_token()
        with _listening(state) as listener:
            _log_to(state)
            _run(state, listener, environ)
    except ServerAlreadyRunning as error:
        print(error, file=sys.stderr)  # noqa: T201 - the starter's log, or a person's terminal
        return ALREADY_RUNNING_EXIT
    except McpAgentError as error:
        print(error, file=sys.stderr)  # noqa: T201 - the same
        return error.exit_code
    return 0


def _run(state: StateDirectory, listener: socket.socket, environ: Mapping[str, str]) -> None:
    """Serve; an error of ours comes out as itself, without the task groups that it went through."""
    try:
        anyio.run(_serve, state, listener, environ)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, McpAgentError):
            raise error from group
        raise


def _log_to(state: StateDirectory) -> None:
    """A file a day, kept as long as calls are."""
    handler = _PrivateLog(state.log, when="midnight", backupCount=KEPT_FOR.days, encoding="utf-8")
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(handlers=[handler], level=logging.INFO, format=form)


class _PrivateLog(TimedRotatingFileHandler):
    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=_private)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


async def _serve(state: StateDirectory, listener: socket.socket, environ: Mapping[str, str]) -> None:
    async with Runtime.open(state, load_config(), environ=environ) as runtime:
        protocol = cast("type[asyncio.Protocol]", partial(LaneProtocol, runtime=runtime))
        server = _Server(
            uvicorn.Config(
                create_app(runtime),
                http=protocol,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        async with anyio.create_task_group() as group:
            group.start_soon(_stop_on_signal, runtime)
            group.start_soon(_stop_on_request, runtime, server)
            _say_ready(state, environ)
            log.info("version %s listens on %s", __version__, state.server_socket)
            await server.serve(sockets=[listener])
            group.cancel_scope.cancel()
    log.info("stopped")


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.told_to_end = anyio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are ours: uvicorn would raise them again before our own clean-up has run."""
        yield

    async def main_loop(self) -> None:
        """Wait for the end: uvicorn would look for it ten times a second, which no idle server should cost."""
        await self.told_to_end.wait()


async def _stop_on_signal(runtime: Runtime) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            log.info("stopping on %s", number.name)
            runtime.stop_requested.set()


async def _stop_on_request(runtime: Runtime, server: _Server) -> None:
    await runtime.stop_requested.wait()
    await runtime.running.cancel_all()
    server.told_to_end.set()


def _hold_lock(state: StateDirectory) -> None:
    """Hold the directory's lock until this process has ended: the kernel lets it go, and nobody starts beside it."""
    state.create()
    descriptor = os.open(state.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise ServerAlreadyRunning(state.root) from None


@contextmanager
def _listening(state: StateDirectory) -> Generator[socket.socket]:
    """A listening socket, 0600. A stale one is replaced: whoever holds the lock is the only server."""
    path = state.server_socket
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listener.bind(str(path))
    finally:
        os.umask(mask)
    listener.listen(128)
    try:
        yield listener
    finally:
        listener.close()
        for left in (path, path.with_name(path.name + START_LOCK_SUFFIX), state.server_record):
            with suppress(OSError):
                left.unlink()
        state.remove_sockets_directory_if_empty()


def _say_ready(state: StateDirectory, environ: Mapping[str, str]) -> None:
    me = identify(os.getpid())
    facts = me.to_json() if me else {"pid": os.getpid()}
    write_private(
        state.server_record, json.dumps({**facts, "version": __version__, "socket": str(state.server_socket)})
    )
    descriptor = environ.get(READY_FD_VARIABLE, "")
    if descriptor.isdecimal():
        with suppress(OSError):
            os.write(int(descriptor), b"1")
            os.close(int(descriptor))
