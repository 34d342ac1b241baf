"""The tools that the benchmarks call: they cost nothing themselves."""

from pathlib import Path
from time import monotonic_ns

import anyio

from mcp_agent.tools.custom import tool


@tool
async def nothing(text: str) -> str:
    """Answer with what was given."""
    return text


@tool
async def silence(note: str) -> None:
    """Say nothing until it is cancelled, and write down when that was, in nanoseconds of the monotonic clock."""
    path = Path(note)
    path.with_suffix(".began").touch()
    try:
        await anyio.sleep_forever()
    finally:
        at = monotonic_ns()
        path.with_suffix(".partial").write_text(str(at))
        path.with_suffix(".partial").rename(path)
