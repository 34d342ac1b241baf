"""A dispatcher with a ledger, one tool that does what a test wants, and sessions that call it, in virtual time."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from trio.testing import MockClock

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Happened, WhyEnded
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.calls.running import RunningCalls
from mcp_agent.errors import BadArguments
from mcp_agent.server.runtime import LOOK_UPS
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import Policy
from mcp_agent.tools.dispatch import Caller, Dispatcher, Request
from mcp_agent.tools.tool import CallContext, Category, ToolResult, Verdict

WRITTEN_WITHIN = 0.05
"""In seconds of real time: the clock does not know that a thread writes the ledger, and must not jump meanwhile."""


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": MockClock(autojump_threshold=WRITTEN_WITHIN)}


@dataclass
class Silent:
    """A custom tool that says nothing for a time, then answers or raises; it notes how it went."""

    seconds: float = 0
    raises: BaseException | None = None
    result: ToolResult = field(default_factory=lambda: ToolResult("done"))
    cleanup_seconds: float = 1
    at_the_end: Callable[[], None] = lambda: None
    verdict: Verdict = field(default_factory=lambda: Verdict("cannot_tell"))
    events: list[str] = field(default_factory=list)
    began: anyio.Event = field(default_factory=anyio.Event)
    name: str = "silent"
    description: str = "Says nothing."
    category: Category = "custom"
    long_running: bool = True
    read_only: bool = False
    idempotent: bool = False
    annotations: Mapping[str, object] = field(default_factory=dict)
    input_schema: Mapping[str, object] = field(default_factory=dict)

    def validate(self, arguments: Mapping[str, object]) -> Mapping[str, object]:
        if "bad" in arguments:
            raise BadArguments(self.name, ["bad: is bad", "worse: is worse"])
        return arguments

    def wait_limit(self, arguments: object) -> timedelta | None:
        return None

    async def run(self, context: CallContext, arguments: object) -> ToolResult:
        self.began.set()
        try:
            await anyio.sleep(self.seconds)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.sleep(self.cleanup_seconds)
            self.events.append("cleaned up")
            raise
        self.events.append("worked")
        self.at_the_end()
        if self.raises is not None:
            raise self.raises
        return self.result

    async def check(self, call_id: str, context: CallContext, arguments: object) -> Verdict:
        self.events.append(f"checked {call_id}")
        return self.verdict


@dataclass
class Desk:
    """A dispatcher, and the sessions that call its tools."""

    dispatcher: Dispatcher
    caller: Caller
    stopping: bool = False

    @property
    def ledger(self) -> Ledger:
        return self.dispatcher.ledger

    @property
    def running(self) -> RunningCalls:
        return self.dispatcher.running

    async def call(self, call_id: str = "call_1", session: str = "s-1", **arguments: object) -> ToolResult:
        return await self.ask("silent", call_id, session=session, **arguments)

    async def ask(
        self, tool: str, as_call: str = "call_ask", *, session: str = "s-1", **arguments: object
    ) -> ToolResult:
        category = self.dispatcher.tools[tool].category
        caller = replace(self.caller, session_id=session)
        return await self.dispatcher.call(caller, Request(as_call, category, tool, arguments))

    def record(self, call_id: str = "call_1") -> CallState:
        return self.ledger.get(call_id)

    def ended(self, call_id: str = "call_1") -> tuple[WhyEnded | None, Happened | None]:
        record = self.record(call_id)
        assert record.ended_at is not None
        return record.why, record.happened


@pytest.fixture
def tool() -> Silent:
    return Silent()


@pytest.fixture
def environ() -> dict[str, str]:
    return {}


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory in memory where there is one: the ledger waits for its disk, and these tests should not."""
    shared = Path("/dev/shm")
    directory = Path(tempfile.mkdtemp(prefix="ma-", dir=shared if shared.is_dir() else None))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
async def desk(tool: Silent, environ: dict[str, str], memory: Path) -> AsyncIterator[Desk]:
    state, running = StateDirectory(memory), RunningCalls()
    with Ledger.open(state.ledger) as ledger:
        async with anyio.create_task_group() as owner:
            tools: dict[str, Any] = {tool.name: tool}
            tools |= {look_up.name: look_up(ledger, running, state) for look_up in LOOK_UPS}
            dispatcher = Dispatcher(tools, Policy.resolve(environ), ledger, running, state, owner)
            desk = Desk(dispatcher, Caller("s-1", memory, {}))
            dispatcher.server_stops = lambda: desk.stopping
            yield desk
            owner.cancel_scope.cancel()
