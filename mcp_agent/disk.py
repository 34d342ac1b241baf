"""Trouble with the disk that no program can mend: it is full, or cannot be written to."""

import errno
import tempfile
from pathlib import Path

from mcp_agent.errors import BadConfiguration

_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_PROBE = b"\0" * 64 * 1024
"""As much as a server needs at the least to start."""


def disk_trouble(error: BaseException, root: Path) -> BadConfiguration | None:
    """What a person is told of this error, and of which directory; None when it is about something else."""
    found = error
    while isinstance(found, BaseExceptionGroup) and len(found.exceptions) == 1:
        found = found.exceptions[0]
    if not isinstance(found, OSError) or found.errno not in _TROUBLE:
        return None
    problem = f"cannot be written to: {found.strerror or found}"
    tried = _try_to_write(root)
    if tried is not None and tried.errno in _TROUBLE:
        return BadConfiguration(root, problem)
    return BadConfiguration(found.filename or "the output", problem)


def check_writable(root: Path) -> None:
    """Raises `BadConfiguration` when a little more cannot be written into this directory."""
    error = _try_to_write(root)
    if error is not None:
        raise BadConfiguration(root, f"cannot be written to: {error.strerror or error}") from error


def _try_to_write(root: Path) -> OSError | None:
    try:
        with tempfile.TemporaryFile(dir=root, buffering=0) as probe:
            left = len(_PROBE)
            while left > 0:
                left -= probe.write(_PROBE[:left])
    except OSError as error:
        return error
    return None
