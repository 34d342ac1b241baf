"""How many CLIs are started at once, in virtual time."""

import anyio
import pytest

from mcp_agent.sessions.starting.crowding import HELD_FOR, Crowding

pytestmark = pytest.mark.anyio

PLACES = 2
TAKES_SECONDS = 3.0


async def starts(count: int, *, takes_seconds: float) -> list[float]:
    """When each of so many starts, begun together, got its place."""
    began: list[float] = []
    async with anyio.create_task_group() as owner:
        crowding, zero = Crowding(owner, anyio.CapacityLimiter(PLACES)), anyio.current_time()

        async def start() -> None:
            async with crowding.place():
                began.append(anyio.current_time() - zero)
                await anyio.sleep(takes_seconds)

        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(start)
    return began


async def test_starts_beyond_the_places_wait_for_one() -> None:
    assert await starts(5, takes_seconds=TAKES_SECONDS) == pytest.approx([0, 0, 3, 3, 6])


async def test_a_start_that_takes_long_makes_place() -> None:
    held = HELD_FOR.total_seconds()
    assert await starts(4, takes_seconds=10 * held) == pytest.approx([0, 0, held, held])


async def test_a_start_that_fails_or_is_taken_back_makes_place() -> None:
    async with anyio.create_task_group() as owner:
        crowding = Crowding(owner, anyio.CapacityLimiter(1))
        with pytest.raises(LookupError):
            async with crowding.place():
                raise LookupError
        with anyio.move_on_after(1):
            async with crowding.place():
                await anyio.sleep_forever()
        with anyio.fail_after(1):
            async with crowding.place():
                pass
