"""A keeper of one session on a terminal in memory, and hours that pass at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.processes import ProcessIdentity
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.retention.clock import clock_of
from mcp_agent.sessions.retention.closing import Closing, Keeping
from mcp_agent.sessions.retention.keeper import Keeper
from mcp_agent.sessions.signals import Stopped
from mcp_agent.state import StateDirectory
from mcp_agent.tmux.memory import MemoryPane

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench, Cli

LIMIT = timedelta(hours=3)


@dataclass
class NoJobs:
    """Jobs that a test says there are."""

    found: tuple[ProcessIdentity, ...] = ()

    async def note_helpers(self) -> None:
        await anyio.lowlevel.checkpoint()

    async def find(self) -> Collection[ProcessIdentity]:
        await anyio.lowlevel.checkpoint()
        return self.found

    def ignore(self, jobs: Collection[ProcessIdentity]) -> None:
        self.found = tuple(job for job in self.found if job not in jobs)


@dataclass
class Kept:
    """One session that is looked after."""

    session: LiveSession
    cli: Cli
    limit: timedelta
    why: str | None = None
    """What another part of the server says for keeping it."""
    wall_seconds: float = 1_000_000.0
    jobs: NoJobs = field(default_factory=NoJobs)
    closed: list[tuple[timedelta, Closing]] = field(default_factory=list)
    """When, since the clock of the test began, and why."""
    has_closed: anyio.Event = field(default_factory=anyio.Event)
    began_seconds: float = field(default_factory=anyio.current_time)

    @property
    def pane(self) -> MemoryPane:
        return self.cli.pane

    @property
    def now(self) -> timedelta:
        return timedelta(seconds=anyio.current_time() - self.began_seconds)

    @property
    def alive(self) -> bool:
        return not self.closed and self.session.over is None

    async def until(self, moment: timedelta) -> None:
        """Let time pass to this moment of the test."""
        await anyio.sleep_until(self.began_seconds + moment.total_seconds())

    async def closes(self) -> timedelta:
        """When it was closed; it is an error when that takes a day."""
        with anyio.fail_after(24 * 3600):
            await self.has_closed.wait()
        assert len(self.closed) == 1
        return self.closed[0][0]

    async def close(self, session: LiveSession, closing: Closing) -> None:
        self.closed.append((self.now, closing))
        session.record = replace(session.record, closed=closing)
        session.apply(Stopped(closing.short))
        self.has_closed.set()

    def keeper(self, state: StateDirectory) -> Keeper:
        return Keeper(
            self.session,
            clock_of(state, self.session.id, self.limit),
            Keeping(self.limit, "a test"),
            self.close,
            lambda _: self.why,
            self.jobs,
            wall=lambda: self.wall_seconds,
        )


@dataclass
class Home:
    """Makes sessions that are looked after."""

    bench: Bench

    @property
    def state(self) -> StateDirectory:
        return StateDirectory(self.bench.root / "state")

    def keep(self, session: LiveSession, cli: Cli, limit: timedelta = LIMIT) -> Kept:
        return Kept(session, cli, limit)

    @asynccontextmanager
    async def kept(self, limit: timedelta = LIMIT) -> AsyncGenerator[Kept]:
        async with self.bench.ready() as (session, cli), anyio.create_task_group() as group:
            kept = self.keep(session, cli, limit)
            group.start_soon(kept.keeper(self.state).run)
            yield kept
            group.cancel_scope.cancel()


@pytest.fixture
def home(bench: Bench) -> Home:
    return Home(bench)
