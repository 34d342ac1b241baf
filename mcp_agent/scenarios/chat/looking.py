"""Looking again and again, at what nothing tells of."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import anyio

SeenT = TypeVar("SeenT")

LOOKS_AGAIN_AFTER = timedelta(milliseconds=100)


async def look_until(holds: Callable[[SeenT], bool], look: Callable[[], SeenT], *, limit: timedelta) -> SeenT:
    """What is seen once this holds of it, or when the limit passes."""
    seen = look()
    with anyio.move_on_after(limit.total_seconds()):
        while not holds(seen):
            await anyio.sleep(LOOKS_AGAIN_AFTER.total_seconds())
            seen = look()
    return seen


def nothing(seen: list[str]) -> bool:
    """It is empty."""
    return not seen
