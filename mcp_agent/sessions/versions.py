"""Asking a provider's CLI for its version."""

import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import anyio

from mcp_agent.adapter import Adapter

ANSWERS_WITHIN = timedelta(seconds=20)


async def version_of(adapter: Adapter, executable: Path, *, environment: Mapping[str, str]) -> str | None:
    """What `--version` says; None when it says nothing that the adapter knows, or nothing in time."""
    try:
        with anyio.move_on_after(ANSWERS_WITHIN.total_seconds()):
            done = await anyio.run_process(
                [str(executable), "--version"],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
                env=dict(environment),
            )
            return adapter.parse_version(done.stdout.decode("utf-8", "replace"))
    except OSError:
        return None
    return None
