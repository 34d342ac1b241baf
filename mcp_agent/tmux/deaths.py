"""Waiting for the end of a process that is not our child."""

import os

import anyio


async def wait_for_exit(pid: int) -> None:
    """Return when the process has ended, at once if there is none; never where the system has no pidfd.

    Whoever calls this knows another, slower sign of the end.
    """
    if not hasattr(os, "pidfd_open"):
        await anyio.sleep_forever()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except OSError:
        await anyio.sleep_forever()
    try:
        await anyio.wait_readable(descriptor)
    finally:
        os.close(descriptor)
