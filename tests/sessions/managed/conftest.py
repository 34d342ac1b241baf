"""A session manager on a terminal in memory. Stopping looks at real processes, so time is real here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream

from mcp_agent.adapter import Adapter
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.manager import SessionManager
from mcp_agent.sessions.record import SessionOptions, load_records
from mcp_agent.sessions.signals import SessionState
from mcp_agent.sessions.starting.launching import ServerCommand
from mcp_agent.sessions.store.store import SessionStore
from mcp_agent.sessions.terminals import TerminalHost
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import Policy
from mcp_agent.tmux.memory import MemoryTerminal
from mcp_agent.tmux.terminal import PaneEvent, PaneRef

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench, Cli


class HouseTerminal(MemoryTerminal):
    """A terminal whose server is ours, and whose calls can be made to go wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = self.shut_down = 0
        self.on_watch: Callable[[PaneRef], None] = lambda _: None
        self.before_spawn: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint
        self.after_spawn: Callable[[], Awaitable[None]] = anyio.lowlevel.checkpoint

    async def spawn(self, **launch: Any) -> PaneRef:
        await self.before_spawn()
        ref = await super().spawn(**launch)
        await self.after_spawn()
        return ref

    @asynccontextmanager
    async def watch(self, pane: PaneRef) -> AsyncGenerator[MemoryObjectReceiveStream[PaneEvent]]:
        async with super().watch(pane) as events:
            self.on_watch(pane)
            yield events

    async def shutdown(self) -> None:
        self.shut_down += 1
        self.lose()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[HouseTerminal]:
        self.opened += 1
        yield self


@dataclass
class House:
    """A manager with a state directory, a terminal, and programs that show their prompt at once."""

    state: StateDirectory
    bench: Bench
    terminal: HouseTerminal = field(default_factory=HouseTerminal)
    policy: Policy = field(default_factory=Policy)
    store: SessionStore = field(default_factory=SessionStore.in_memory)
    cancelled: list[tuple[str, SessionState, bool]] = field(default_factory=list)
    """For each cancelling of calls: the session, its state and whether its record said stopped, at that moment."""
    bridges_come_up: bool = True
    tmux_lives: bool = True
    load: Callable[[str], Adapter] | None = None

    @asynccontextmanager
    async def server(self) -> AsyncGenerator[SessionManager]:
        """One server's life. Its end ends its tasks; the terminal and the files stay."""
        async with anyio.create_task_group() as owner:
            manager = SessionManager(
                state=self.state,
                policy=self.policy,
                terminals=TerminalHost(self.terminal.open, owner),
                owner=owner,
                cancel_calls=lambda session_id: self.cancel_calls(manager, session_id),
                server_command=ServerCommand(("server",), {}),
                load_adapter=self.load or (lambda _: self.bench.adapter),
                store=self.store,
            )
            self.terminal.on_watch = lambda pane: self._bring_bridge_up(manager, pane)
            await manager.adopt(tmux_lives=lambda: self.tmux_lives)
            yield manager
            owner.cancel_scope.cancel()

    async def cancel_calls(self, manager: SessionManager, session_id: str) -> int:
        record = next(record for record in load_records(self.state) if record.id == session_id)
        self.cancelled.append((session_id, manager.get(session_id).state, record.stopped))
        return 2

    @property
    def work(self) -> Path:
        return self.bench.root

    def options(self, **more: Any) -> SessionOptions:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.work)} | more.pop("environment", {})
        return SessionOptions("plain", self.work, environment, **more)

    def cli(self, session: LiveSession) -> Cli:
        cli = self.bench.cli(self.terminal.pane(session.pane), self.state.session(session.id) / "events")
        cli.told = session.take_events
        return cli

    def files(self) -> list[str]:
        """What is left of sessions on disk."""
        return sorted(str(path.relative_to(self.state.sessions)) for path in self.state.sessions.rglob("*"))

    async def nothing_is_left(self, manager: SessionManager) -> bool:
        """No session, no file, no pane, and a terminal that was shut down as often as it was opened."""
        left = (manager.all(), self.files(), await self.panes())
        return left == ([], [], []) and self.terminal.opened == self.terminal.shut_down

    async def panes(self) -> list[str]:
        return [pane.tags.get("session", "") for pane in await self.terminal.panes()]

    def _bring_bridge_up(self, manager: SessionManager, pane: PaneRef) -> None:
        for session in manager.all():
            if session.record.pane == pane and self.bridges_come_up:
                session.bridge_is_up()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def house(short_tmp: Path, bench: Bench) -> House:
    house = House(StateDirectory(short_tmp / "state"), bench)
    house.terminal.program = lambda pane: pane.show("> ", "---")
    return house


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process for sessions to be tied to."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()
