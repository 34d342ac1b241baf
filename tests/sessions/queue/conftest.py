"""A session in memory with a queue of messages, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.lowlevel
import pytest

from mcp_agent.sessions.input.messages import Message, MessageKind, Messages
from mcp_agent.sessions.input.queue import MessageQueue
from mcp_agent.sessions.input.sending import SendMode, Sent

if TYPE_CHECKING:
    from mcp_agent.sessions.live import LiveSession
    from tests.sessions.conftest import Bench, Cli

T = TypeVar("T")


@dataclass
class Desk:
    """A ready session with a queue."""

    session: LiveSession
    cli: Cli
    queue: MessageQueue

    async def queued(self, text: str) -> Sent:
        return await self.queue.send(self.session, text, mode=SendMode.QUEUE)

    async def all(self) -> list[Message]:
        return await self.queue.messages.all(self.session.id)

    async def states(self) -> list[tuple[str, str]]:
        return [(message.text, message.state) for message in await self.all()]

    async def until(self, *states: str) -> list[Message]:
        """The messages, once their states are these."""
        with anyio.fail_after(60):
            while [message.state for message in await self.all()] != list(states):  # noqa: ASYNC110 -- nothing tells
                await anyio.sleep(0.05)
        return await self.all()

    async def left_claimed(self, text: str) -> Message:
        """A message that a dead server was placing."""
        return await self.queue.messages.add(self.session.id, text, kind=MessageKind.PROMPT, claimed=True)

    def ends_turns(self, seconds: float = 1.0) -> None:
        """Each turn completes by itself after a while."""

        async def end_later() -> None:
            await anyio.sleep(seconds)
            self.cli.tell(ended="completed")

        def begin(_: str) -> None:
            self.queue.owner.start_soon(end_later)

        self.cli.on_submit = begin


async def at_once(work: Callable[[], T], /) -> T:
    """No thread: virtual time does not wait for one."""
    await anyio.lowlevel.checkpoint()
    return work()


Desks = Callable[[], AbstractAsyncContextManager[Desk]]


@pytest.fixture
def open_desk(bench: Bench) -> Desks:
    @asynccontextmanager
    async def desk() -> AsyncGenerator[Desk]:
        async with bench.ready() as (session, cli), anyio.create_task_group() as owner:
            yield Desk(session, cli, MessageQueue(Messages(session.turns.store, at_once), owner))
            owner.cancel_scope.cancel()

    return desk
