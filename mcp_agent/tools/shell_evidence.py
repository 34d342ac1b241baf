"""What the files of a supervisor and the process table tell of a shell command that somebody else started."""

import time
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio

from mcp_agent.calls.outcomes import seconds_text
from mcp_agent.processes import CALL_MARK, ProcessIdentity, is_alive, marked, with_descendants
from mcp_agent.processes.reaping import reap
from mcp_agent.tools import call_files
from mcp_agent.tools.call_files import ExitRecord
from mcp_agent.tools.tool import Verdict

LOOK_AGAIN_AFTER = timedelta(milliseconds=200)
"""The pipe through which a supervisor tells its starter of the end died with the starter; its files did not."""

TAIL_BYTES = 400


def look(call_id: str, directory: Path) -> Verdict:
    """Whether the command was run.

    It was not, for certain, when it was announced, which is before its intent, and no supervisor got as far as its own
    file. A restart of the machine may have lost that file, and then nothing is certain.
    """
    # Looked at first, so that a record written in between is not missed.
    lives = _lives(call_id, directory)
    record = call_files.read_exit(directory)
    if record is not None:
        return _of_record(record, directory)
    if lives:
        return Verdict("happened", "the command was started and still runs")
    if not (directory / call_files.ANNOUNCED).exists():
        return Verdict("cannot_tell", "nothing that the command left is there any more")
    if call_files.read_supervisor(directory) is None and not _is_of_earlier_boot(directory / call_files.ANNOUNCED):
        return Verdict("did_not_happen", "no supervisor began to run the command, and none is left that could")
    return Verdict("cannot_tell", "the command's supervisor was killed, and left no record of how the command ended")


async def wait(call_id: str, directory: Path) -> ExitRecord | None:
    """How the command ended, once it has; None when that will never be on record."""
    while True:
        lives = await anyio.to_thread.run_sync(_lives, call_id, directory)
        record = call_files.read_exit(directory)
        if record is not None or not lives:
            return record
        await anyio.sleep(LOOK_AGAIN_AFTER.total_seconds())


async def end_all(calls: Path, *, grace: timedelta) -> None:
    """End every supervised command of these calls, and what commands that have ended left running."""
    async with anyio.create_task_group() as group:
        for directory in await anyio.to_thread.run_sync(_supervised, calls):
            group.start_soon(partial(end, directory.name, directory, grace=grace), name=f"end {directory.name}")


def _supervised(calls: Path) -> list[Path]:
    def lives(directory: Path) -> bool:
        try:
            supervisor = call_files.read_supervisor(directory)
        except (OSError, ValueError):
            return False
        return supervisor is not None and is_alive(supervisor)

    return [directory for directory in calls.iterdir() if lives(directory)]


async def end(call_id: str, directory: Path, *, grace: timedelta) -> None:
    """End the command, everything below it, and its supervisor."""
    await reap(lambda: _processes(call_id, directory), grace=grace)


def _lives(call_id: str, directory: Path) -> bool:
    return any(is_alive(process) for process in _processes(call_id, directory))


def _processes(call_id: str, directory: Path) -> list[ProcessIdentity]:
    supervisor = call_files.read_supervisor(directory)
    return with_descendants([*([supervisor] if supervisor else []), *marked(CALL_MARK, call_id)])


def _is_of_earlier_boot(path: Path) -> bool:
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return path.stat().st_mtime < time.time() - time.clock_gettime(clock)


def _of_record(record: ExitRecord, directory: Path) -> Verdict:
    if record.ended == call_files.NOT_STARTED:
        return Verdict("did_not_happen", f"the command could not be started: {record.error}")
    how = f"signal {record.signal}" if record.signal else f"exit status {record.exit_status}"
    said = f"the command ended ({record.ended}, {how}) after {seconds_text(record.elapsed_seconds)}"
    return Verdict("happened", f"{said}; the end of its output: {_tail(directory)!r}")


def _tail(directory: Path) -> str:
    try:
        return (directory / call_files.STDOUT).read_bytes()[-TAIL_BYTES:].decode("utf-8", "replace")
    except OSError:
        return ""
