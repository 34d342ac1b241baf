"""Waiting for the end of a process that is not our child."""

import os

import anyio


async def wait_for_exit(pid: int) -> bool:
    """True when the process has ended, at once if there is none; False, at once, where the system tells no ends."""
    if not hasattr(os, "pidfd_open"):
        return False
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)
    return True
