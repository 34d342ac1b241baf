"""The files in which a server and the supervisor of a shell command talk: both may die, the files stay.

announced         empty, older than the call's intent: without it nothing can be told from what is missing
spec.json         what to run, written before the supervisor starts
environment.json  with which variables, secrets maybe: removed once the supervisor has read it
supervisor.json   who supervises it
stdout, stderr    what it wrote
exit.json         how it ended, written once and whole, in space that is reserved before the supervisor starts
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from mcp_agent.errors import ToolError
from mcp_agent.processes import ProcessIdentity

ANNOUNCED = "announced"
SPEC = "spec.json"
ENVIRONMENT = "environment.json"
SUPERVISOR = "supervisor.json"
STDOUT = "stdout"
STDERR = "stderr"
EXIT = "exit.json"

RESERVED_BYTES = 8192
"""For `exit.json`, so that a full disk does not hide how a command ended."""

EXITED = "exited"
KILLED_TIMEOUT = "killed_timeout"
KILLED_WORK_LIMIT = "killed_work_limit"
CANCELLED = "cancelled"
NOT_STARTED = "not_started"


class Spec(NamedTuple):
    """One command to run."""

    command: str
    working_directory: str
    environment: Mapping[str, str]
    """Empty once the supervisor has taken it."""
    timeout_seconds: float | None
    """Kill the command after this time; None means never."""
    work_limit_seconds: float | None
    """The layer `server_tool`, enforced without the server."""
    grace_seconds: float
    """Between TERM and KILL."""
    max_output_bytes: int
    """Of each stream."""


class ExitRecord(NamedTuple):
    """How a command ended."""

    ended: str
    exit_status: int | None
    signal: str | None
    """The name of the signal that ended it, as `SIGKILL`."""
    error: str | None
    """Why it could not be started."""
    survivors: list[int]
    """Pids of what it left running."""
    stdout_bytes: int
    stderr_bytes: int
    stdout_omitted_bytes: int
    """Bytes that the file `stdout` does not hold, counted between its two halves."""
    stderr_omitted_bytes: int
    started_at: float
    """Seconds since the epoch."""
    ended_at: float
    elapsed_seconds: float
    subreaper: bool
    """False where the system has none: what forked twice to get away is not supervised."""
    capture_error: str | None = None
    """Why output is missing beyond what the bound of its files omits."""

    def to_line(self) -> bytes:
        """The record as one line."""
        return json.dumps(self._asdict()).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "ExitRecord | None":
        """The record that `to_line` made; None when a part of the line is missing."""
        return cls(**json.loads(line)) if line.endswith(b"\n") else None


def announce(directory: Path) -> None:
    """Leave the mark that a call is about to be written down; a disk that does not take it is found out later."""
    with suppress(OSError):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(directory / ANNOUNCED, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))


def withdraw(directory: Path) -> None:
    """Remove the mark, and the directory unless it holds more."""
    _remove(directory, ANNOUNCED)
    with suppress(OSError):
        directory.rmdir()


def write_spec(directory: Path, spec: Spec) -> None:
    """Make ready all that a supervisor needs; raises ToolError when that cannot be written."""
    record = spec._asdict()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _open(_new(directory / EXIT)) as file:
            file.write(" " * RESERVED_BYTES)
        _write(directory / ENVIRONMENT, record.pop("environment"))
        _write(directory / SPEC, record)
    except OSError as error:
        _remove(directory, SPEC, ENVIRONMENT, EXIT)
        raise not_started(error) from error


def not_started(error: OSError) -> ToolError:
    """What a caller is told when the system was in the way of a supervisor."""
    return ToolError(f"the call was not started: {error.strerror}")


def read_spec(directory: Path) -> Spec:
    return Spec(**{"environment": {}, **_read(directory / SPEC)})


def take_spec(directory: Path) -> Spec:
    """The specification, whose environment is not kept any longer."""
    spec = read_spec(directory)._replace(environment=_read(directory / ENVIRONMENT))
    forget_environment(directory)
    return spec


def forget_environment(directory: Path) -> None:
    _remove(directory, ENVIRONMENT)


def write_supervisor(directory: Path, identity: ProcessIdentity) -> None:
    _write(directory / SUPERVISOR, identity.to_json())


def read_supervisor(directory: Path) -> ProcessIdentity | None:
    """Who supervises the command; None when no supervisor got so far."""
    try:
        return ProcessIdentity.from_json(_read(directory / SUPERVISOR))
    except FileNotFoundError:
        return None


def write_exit(directory: Path, record: ExitRecord) -> None:
    """Write how the command ended, into the reserved space."""
    _write(directory / EXIT, record._asdict())


def read_exit(directory: Path) -> ExitRecord | None:
    """How the command ended; None when it runs, or when its supervisor was killed or could not write it."""
    try:
        return ExitRecord(**_read(directory / EXIT))
    except FileNotFoundError:
        return None


def restore_exit(directory: Path, record: ExitRecord) -> None:
    """Write a record that its supervisor could not; it may lack the directory."""
    if not (directory / EXIT).exists():
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_exit(directory, record)


def _new(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def _write(path: Path, record: Mapping[str, object]) -> None:
    with _open(_new(path)) as file:
        json.dump(record, file)
        file.truncate()
    _new(path).replace(path)


def _open(path: Path) -> TextIO:
    """Open to write over what is there: truncating it first would give reserved space away."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return os.fdopen(descriptor, "w", encoding="utf-8")


def _remove(directory: Path, *names: str) -> None:
    for path in (directory / name for name in names):
        for written in (path, _new(path)):
            with suppress(OSError):
                written.unlink()


def _read(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record
