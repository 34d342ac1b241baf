"""Whose bridge, or event program, this is when nobody said: it was started by a CLI that knows only how to start it.

Sessions of one directory may share the configuration that names us. The session's file stands in the environment of its
CLI; a CLI may keep that from what it starts, so the processes above are asked, the nearest first.
"""
# ruff: noqa: PTH123

import os

VARIABLE = "API_BRIDGE_SESSION_FILE"
MOST_PARENTS = 64


def session_file() -> str | None:
    """The path of the session's file; None when no process above us belongs to a session."""
    own = os.environ.get(VARIABLE)
    if own:
        return own
    pid, left = os.getppid(), MOST_PARENTS
    while pid > 1 and left:
        found = _in_environment(pid)
        if found:
            return found
        pid, left = _parent(pid), left - 1
    return None


def _in_environment(pid: int) -> str | None:
    """What the program was started with. Nothing for another user's, and where there is no `/proc`."""
    mark = f"{VARIABLE}=".encode()
    for entry in _read(f"/proc/{pid}/environ").split(b"\0"):
        if entry.startswith(mark):
            return os.fsdecode(entry[len(mark) :])
    return None


def _parent(pid: int) -> int:
    """0 when it is gone. The second field may hold anything, parentheses and blanks included."""
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
