"""Reading and replacing somebody's file: whole or not at all, behind its symlinks, with its mode and its owner."""

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_agent.errors import BadConfiguration

_MODE = 0o600
"""Of a file that was not there before."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a path leads to now. None as `text`: there is no file."""

    path: Path
    text: str | None


def find(path: Path) -> Found:
    """Raises `BadConfiguration` for what is there and cannot be read as text."""
    try:
        return Found(path, _read(path).decode("utf-8"))
    except FileNotFoundError:
        return Found(path, None)
    except UnicodeDecodeError as error:
        raise BadConfiguration(path, f"is no UTF-8 text at byte {error.start}; it was left as it is") from error
    except OSError as error:
        raise BadConfiguration(path, f"cannot be read: {error.strerror or error}") from error


def replace(path: Path, text: str) -> None:
    """On return the text is on disk. Raises `BadConfiguration`; then the file is as it was."""
    target = Path(os.path.realpath(path))
    try:
        before = target.stat() if target.exists() else None
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        try:
            _fill(descriptor, text, before)
            Path(name).rename(target)
        finally:
            Path(name).unlink(missing_ok=True)
        _sync(target.parent)
    except OSError as error:
        raise BadConfiguration(path, f"cannot be written: {error.strerror or error}") from error


def make_directories(path: Path) -> tuple[Path, ...]:
    """Make the directories above a file, and say which were not there, the outermost first."""
    missing = [parent for parent in path.parents if not os.path.lexists(parent)][::-1]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadConfiguration(path, f"its directory cannot be made: {error.strerror or error}") from error
    return tuple(missing)


def remove(path: Path, directories: tuple[Path, ...]) -> None:
    """Take the file away, and not a link that leads to it; and of the directories those that are empty then."""
    Path(os.path.realpath(path)).unlink(missing_ok=True)
    with suppress(OSError):
        for directory in reversed(directories):
            directory.rmdir()


def _read(path: Path) -> bytes:
    """What a regular file holds; a pipe would have us wait for its writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadConfiguration(path, "is no regular file; it was left as it is")
        return file.read()


def _fill(descriptor: int, text: str, before: os.stat_result | None) -> None:
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        os.fchmod(descriptor, stat.S_IMODE(before.st_mode) if before else _MODE)
        if before is not None and (before.st_uid, before.st_gid) != (os.getuid(), os.getgid()):
            os.fchown(descriptor, before.st_uid, before.st_gid)
        file.write(text)
        file.flush()
        os.fsync(descriptor)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
