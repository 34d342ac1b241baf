"""The files in which a server and the supervisor of a shell command talk: both may die, the files stay.

spec.json         what to run, written before the supervisor starts
supervisor.json   who supervises it
stdout, stderr    what it wrote
exit.json         how it ended, written once and whole
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mcp_agent.processes import ProcessIdentity

SPEC = "spec.json"
SUPERVISOR = "supervisor.json"
STDOUT = "stdout"
STDERR = "stderr"
EXIT = "exit.json"

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


def write_spec(directory: Path, spec: Spec) -> None:
    _write(directory / SPEC, spec._asdict())


def read_spec(directory: Path) -> Spec:
    return Spec(**_read(directory / SPEC))


def write_supervisor(directory: Path, identity: ProcessIdentity) -> None:
    _write(directory / SUPERVISOR, identity.to_json())


def read_supervisor(directory: Path) -> ProcessIdentity | None:
    """Who supervises the command; None when no supervisor got so far."""
    try:
        return ProcessIdentity.from_json(_read(directory / SUPERVISOR))
    except FileNotFoundError:
        return None


def write_exit(directory: Path, record: ExitRecord) -> None:
    _write(directory / EXIT, record._asdict())


def read_exit(directory: Path) -> ExitRecord | None:
    """How the command ended; None when it runs, or when its supervisor was killed."""
    try:
        return ExitRecord(**_read(directory / EXIT))
    except FileNotFoundError:
        return None


def _write(path: Path, record: Mapping[str, object]) -> None:
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(record, file)
    temporary.replace(path)


def _read(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record
