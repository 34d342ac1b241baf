"""Supervise one shell command: `python -I -m mcp_agent.tools.supervisor CALL_DIRECTORY`.

It is the subreaper of everything that the command starts, so nothing gets away from it: not by another session, another
process group or a double fork. It outlives the server, enforces the limits by itself, and leaves `exit.json`. TERM, HUP
or INT make it end the whole tree. It tells the end on its stdout too, for the case that `exit.json` cannot be written,
closes that, and stays with what the command left running. When the supervisor itself is killed, the system kills the
command; of the rest, what kept its mark can be found.
"""

import math
import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from mcp_agent.errors import SignalRefused
from mcp_agent.processes import ProcessIdentity, descendants, identify, is_alive, send_signal
from mcp_agent.tools import call_files
from mcp_agent.tools.call_files import ExitRecord
from mcp_agent.tools.capture import Capture
from mcp_agent.tools.poller import Poller
from mcp_agent.tools.spawning import NotStarted, become_subreaper, spawn_shell

CANCEL_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
DRAIN_SECONDS = 0.5
"""How long output that is still on its way is read once the command has ended."""
RESCAN_SECONDS = 0.05
"""Between looks for new processes while a tree is ended."""
KILL_SECONDS = 5.0
"""How long KILL may take to show before the command is reported with survivors."""


class Supervisor:
    """One command, from its start until nothing of it is left."""

    def __init__(self, directory: Path, me: ProcessIdentity, *, subreaper: bool) -> None:
        self._directory, self._me, self._subreaper = directory, me, subreaper
        self._spec = call_files.take_spec(directory)
        self._poller = Poller()
        self._stdout = Capture(directory / call_files.STDOUT, max_bytes=self._spec.max_output_bytes)
        self._stderr = Capture(directory / call_files.STDERR, max_bytes=self._spec.max_output_bytes)
        self._pid: int | None = None
        self._started, self._started_at = time.monotonic(), time.time()

    def run(self) -> None:
        self._poller.listen(CANCEL_SIGNALS)
        problem = "cancelled before it was started" if self._poller.cancelled else self._register() or self._start()
        if problem is not None:
            self._report(call_files.NOT_STARTED, error=problem)
            return
        ended = self._wait()
        if ended != call_files.EXITED:
            self._end_tree()
        self._drain()
        self._report(ended)
        self._stay()

    def _register(self) -> str | None:
        """Write down who supervises the command; answers what was in the way."""
        try:
            call_files.write_supervisor(self._directory, self._me)
        except OSError as problem:
            return str(problem)
        return None

    def _start(self) -> str | None:
        """Start the command; answers what was in the way, and None when it runs."""
        stdout, stdout_end = os.pipe()
        stderr, stderr_end = os.pipe()
        try:
            self._pid = spawn_shell(self._spec, stdout=stdout_end, stderr=stderr_end)
        except NotStarted as problem:
            return str(problem)
        finally:
            os.close(stdout_end)
            os.close(stderr_end)
        self._poller.childless = False
        self._poller.add_output(stdout, self._stdout)
        self._poller.add_output(stderr, self._stderr)
        return None

    def _wait(self) -> str:
        """Wait for the command's own end, or for what is to end it."""
        deadline, reason = min(
            (self._deadline(self._spec.timeout_seconds), call_files.KILLED_TIMEOUT),
            (self._deadline(self._spec.work_limit_seconds), call_files.KILLED_WORK_LIMIT),
        )
        while self._status() is None:
            if self._poller.cancelled:
                return call_files.CANCELLED
            if time.monotonic() >= deadline:
                return reason
            self._poller.turn(deadline)
        return call_files.EXITED

    def _deadline(self, seconds: float | None) -> float:
        return math.inf if seconds is None else self._started + seconds

    def _status(self) -> int | None:
        return None if self._pid is None else self._poller.statuses.get(self._pid)

    def _end_tree(self) -> None:
        """TERM to everything, a grace, then KILL, looking again until nothing is left or KILL shows no effect."""
        self._poller.cancelled = True
        kill_at = time.monotonic() + self._spec.grace_seconds
        known: dict[ProcessIdentity, None] = {}
        while time.monotonic() < kill_at + KILL_SECONDS and self._left(known):
            # Parents come first: a shell whose command dies before it would go on to its next command.
            found = descendants(self._me)
            if time.monotonic() < kill_at:
                _signal([process for process in found if process not in known], signal.SIGTERM)
            else:
                _signal([*known, *found], signal.SIGKILL)
            known.update(dict.fromkeys(found))
            self._poller.turn(time.monotonic() + RESCAN_SECONDS)

    def _left(self, known: Iterable[ProcessIdentity]) -> bool:
        return not self._poller.childless or any(map(is_alive, known))

    def _drain(self) -> None:
        until = time.monotonic() + DRAIN_SECONDS
        while self._poller.turn(0.0) and time.monotonic() < until:
            pass

    def _report(self, ended: str, *, error: str | None = None) -> None:
        elapsed_seconds = time.monotonic() - self._started
        self._stdout.close()
        self._stderr.close()
        status = self._status()
        code = None if status is None else os.waitstatus_to_exitcode(status)
        record = ExitRecord(
            ended=ended,
            exit_status=code if code is not None and code >= 0 else None,
            signal=_signal_name(-code) if code is not None and code < 0 else None,
            error=error,
            survivors=[] if self._poller.childless else [process.pid for process in descendants(self._me)],
            stdout_bytes=self._stdout.total_bytes,
            stderr_bytes=self._stderr.total_bytes,
            stdout_omitted_bytes=self._stdout.omitted_bytes,
            stderr_omitted_bytes=self._stderr.omitted_bytes,
            started_at=self._started_at,
            ended_at=self._started_at + elapsed_seconds,
            elapsed_seconds=elapsed_seconds,
            subreaper=self._subreaper,
            capture_error=self._stdout.problem or self._stderr.problem,
        )
        with suppress(OSError):  # its files were deleted, or the disk is worse than full: the line below says it
            call_files.write_exit(self._directory, record)
        _tell(record.to_line())

    def _stay(self) -> None:
        """Stay with what the command left running, so that it can be found and ended."""
        self._poller.discard_output()
        while not self._poller.childless:
            if self._poller.cancelled:
                self._end_tree()
            else:
                self._poller.turn(math.inf)


def _signal(processes: Iterable[ProcessIdentity], number: signal.Signals) -> None:
    for process in processes:
        try:
            send_signal(process, number)
        except SignalRefused:
            continue  # it took another user's rights; it is reported as a survivor


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _tell(line: bytes) -> None:
    """Write to a server that may be gone, and close stdout."""
    with suppress(OSError):
        while line:
            line = line[os.write(1, line) :]
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def main(directory: Path) -> None:
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.chdir("/")
    me = identify(os.getpid())
    if me is None:
        raise SystemExit("cannot find this process in the process table")
    Supervisor(directory, me, subreaper=become_subreaper()).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    # Nothing is left to tidy up, and the server waits for the end of this process.
    os._exit(0)
