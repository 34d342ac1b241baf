"""The server's side of a shell command's supervisor: start it, wait for it, end it."""

import logging
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.errors import CannotRunHere
from mcp_agent.processes import CALL_MARK, ProcessIdentity, identify, marked, send_signal, with_descendants
from mcp_agent.processes.reaping import reap, wait_gone
from mcp_agent.tools import call_files
from mcp_agent.tools.call_files import ExitRecord

log = logging.getLogger(__name__)

MODULE = "mcp_agent.tools.supervisor"
LOG = "supervisor.log"

END_MARGIN = timedelta(seconds=6)
"""What a supervisor may take beyond the grace to end its tree."""

LEAVE_LIMIT = timedelta(seconds=1)
"""How long a supervisor without anything left to supervise may take to leave."""

READ_BYTES = 1 << 16

BLOCKED_AT_START = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
DEFAULT_IN_CHILD = (*BLOCKED_AT_START, signal.SIGQUIT, signal.SIGCHLD, signal.SIGPIPE)


class Supervision:
    """One supervisor that this process started. Use `start`, and `close` it when its command is done."""

    def __init__(self, identity: ProcessIdentity, done: int, *, directory: Path, call_id: str) -> None:
        self.identity = identity
        self._done = done
        self._directory = directory
        self._call_id = call_id

    @classmethod
    def start(cls, directory: Path, *, call_id: str, marks: Mapping[str, str]) -> "Supervision":
        """Start a supervisor for the `spec.json` in a directory; the marks are its whole environment.

        Raises ToolError when the system refuses to start one.
        """
        done, done_end = os.pipe()
        try:
            pid = _spawn(directory, done_end, marks)
        except OSError as error:
            os.close(done)
            call_files.forget_environment(directory)
            raise call_files.not_started(error) from error
        finally:
            os.close(done_end)
        identity = identify(pid)
        if identity is None:
            os.close(done)
            raise CannotRunHere("the process table of this machine cannot be read, so no command can be supervised")
        return cls(identity, done, directory=directory, call_id=call_id)

    async def finished(self) -> None:
        """Wait until the command's end is on record, or until the supervisor is gone.

        The record is put back where the supervisor could not write it or somebody deleted it.
        """
        record = ExitRecord.from_line(await self._told())
        if record is None:
            return
        try:
            call_files.restore_exit(self._directory, record)
        except OSError:
            log.warning("%s ended, and that cannot be written down: %s", self._call_id, record, exc_info=True)

    async def _told(self) -> bytes:
        """All that the supervisor writes, until it closes its stdout."""
        told = bytearray()
        while True:
            await anyio.wait_readable(self._done)
            data = os.read(self._done, READ_BYTES)
            if not data:
                return bytes(told)
            told += data

    async def end(self, *, grace: timedelta) -> list[ProcessIdentity]:
        """End the command and everything below it; answers what would not end. Bounded."""
        send_signal(self.identity, signal.SIGTERM)
        await wait_gone([self.identity], limit=grace + END_MARGIN)
        return await self.end_unsupervised()

    async def end_unsupervised(self) -> list[ProcessIdentity]:
        """End at once what is left of the command, the supervisor included."""
        return await reap(self._left, grace=timedelta(0))

    def _left(self) -> list[ProcessIdentity]:
        return with_descendants([self.identity, *marked(CALL_MARK, self._call_id)])

    async def left(self) -> None:
        """Wait, bounded, until the supervisor has left."""
        await wait_gone([self.identity], limit=LEAVE_LIMIT)

    def close(self) -> None:
        """Forget the command; a supervisor that stays is collected by `collect`."""
        os.close(self._done)

    def collect(self) -> bool:
        """Take an ended supervisor off the process table; False while it runs."""
        with suppress(ChildProcessError):
            return os.waitpid(self.identity.pid, os.WNOHANG)[0] != 0
        return True


def _spawn(directory: Path, done_end: int, marks: Mapping[str, str]) -> int:
    # The signals stay blocked until the supervisor has handlers for them: a cancel at any moment is one it hears.
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-m", MODULE, str(directory)],
        dict(marks),
        file_actions=[
            (os.POSIX_SPAWN_DUP2, done_end, 1),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, str(directory / LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        ],
        setsigmask=BLOCKED_AT_START,
        setsigdef=DEFAULT_IN_CHILD,
    )
