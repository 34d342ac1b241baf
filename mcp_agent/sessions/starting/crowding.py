"""How many CLIs may be on their way to their prompts at once.

More of them would not be ready sooner: they would take the processors from each other, from sessions that work, and
from the server, which has to answer meanwhile.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
from anyio.abc import TaskGroup

PER_PROCESSOR = 3
HELD_FOR = timedelta(seconds=10)
"""A CLI that takes longer waits for something else than a processor, and makes place."""


def _places() -> anyio.CapacityLimiter:
    return anyio.CapacityLimiter(PER_PROCESSOR * (os.cpu_count() or 1))


@dataclass(slots=True)
class Crowding:
    """The places of one server, whose tasks run in `owner`."""

    owner: TaskGroup
    places: anyio.CapacityLimiter = field(default_factory=_places)

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None]:
        """Wait for a place, and hold it until the context is left, or for `HELD_FOR`."""
        left = anyio.Event()
        await self.places.acquire_on_behalf_of(left)
        self.owner.start_soon(self._hold, left)
        try:
            yield
        finally:
            left.set()

    async def _hold(self, left: anyio.Event) -> None:
        try:
            with anyio.move_on_after(HELD_FOR.total_seconds()):
                await left.wait()
        finally:
            self.places.release_on_behalf_of(left)
