"""Fills the record of one provider's run while it goes on.

It looks on through the public API: a picture of the pane, the session's events and its tool calls, twice a second and
after each probe. None of these looks on a session's behalf, so a run is the same with a recorder as without one.
"""

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

import anyio

from mcp_agent.errors import McpAgentError
from mcp_agent.scenarios.driver import Driver
from mcp_agent.scenarios.options import Listener
from mcp_agent.scenarios.report import secrets
from mcp_agent.scenarios.report.masking import masked
from mcp_agent.scenarios.report.observed import call_of, event_of, frame_of
from mcp_agent.scenarios.report.record import Call, Event, Frame
from mcp_agent.scenarios.results import ProbeResult, Result
from mcp_agent.scenarios.workspace import Workspace
from mcp_agent.server.client import Json

LOOKS_EVERY = timedelta(milliseconds=500)
LOOKS_WITHIN = timedelta(seconds=5)
"""A look that takes longer is given up: it must not hold the run up."""


class Watched(Protocol):
    """What a recorder sees of a scenario: its session, once there is one, and the way to it."""

    @property
    def driver(self) -> Driver: ...

    @property
    def session(self) -> Json: ...

    @property
    def space(self) -> Workspace: ...

    @property
    def start_body(self) -> Mapping[str, object]: ...


@dataclass(frozen=True, slots=True)
class Window:
    """When a probe ran, and what it found."""

    began_seconds: float
    ended_seconds: float
    result: ProbeResult
    found_seconds: float
    """When that was known; what came later is what the test did about it."""


@dataclass(slots=True)
class Recorder:
    """One provider's run as it goes."""

    looks: bool = False
    """Take pictures too, and read events and calls; otherwise only what is said is kept."""
    clock: Callable[[], float] = time.time
    began_at: float = field(default=0.0)
    windows: list[Window] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    frames: list[Frame] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)
    """What no file may show."""
    _probe: str | None = None
    _probe_began: float = 0.0
    _found: float | None = None
    _cursor: int = 0
    _over: float | None = None

    def __post_init__(self) -> None:
        self.began_at = self.clock()

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return max(0.0, self.clock() - self.began_at)

    def hears(self, listener: Listener) -> Listener:
        """A listener that passes on what it is told, without secrets, and lets the recorder hear it."""

        def begins(name: str) -> None:
            self._probe, self._probe_began = name, self.now
            listener.begins(name)

        def probed(result: ProbeResult) -> None:
            self._close(result)
            listener.probed(masked(result, self.secrets))

        def say(text: str) -> None:
            kind, _, rest = text.strip().partition(" ")
            self.events.append(Event(self.now, kind, rest.strip()))
            listener.say(masked(text, self.secrets))

        def waits(what: str, limit: timedelta | None) -> None:
            self.events.append(Event(self.now, "waits", f"for {what}"))
            listener.waits(what, limit)

        return Listener(say=say, probed=probed, begins=begins, waits=waits)

    @property
    def elapsed_seconds(self) -> float:
        """How long the run took, or has taken so far."""
        return self.now if self._over is None else self._over

    def over(self) -> None:
        """The run has come to an end; what comes later is not part of it."""
        self._over = self.now

    def ended_early(self, why: str) -> None:
        """The run is over before its end: what ran just then, or would have come next, did not pass."""
        began = self._probe_began if self._probe else self.now
        self._close(ProbeResult(self._probe or "the rest of the run", Result.NOT_RUN, why, self.now - began))

    def _close(self, result: ProbeResult) -> None:
        began = self._probe_began if self._probe else self.now
        now = self.now
        self.windows.append(Window(began, now, result, now if self._found is None else self._found))
        self._probe = self._found = None

    @asynccontextmanager
    async def watching(self, scenario: Watched) -> AsyncGenerator[None]:
        """Look on while the body runs."""
        raised: list[Exception] = []
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch, scenario)
            try:
                yield
            except Exception as error:  # noqa: BLE001 - carried over the task group, which would wrap it
                raised.append(error)
            group.cancel_scope.cancel()
        if raised:
            raise raised[0]

    async def _watch(self, scenario: Watched) -> None:
        while True:
            await self.look(scenario)
            await anyio.sleep(LOOKS_EVERY.total_seconds())

    async def look(self, scenario: Watched) -> None:
        """Look once; what cannot be seen just now is not in the record."""
        self.secrets.update(secrets.of_state(scenario.space.state), secrets.of_endpoint(scenario.start_body))
        session_id = scenario.session.get("id")
        if session_id is None or not self.looks:
            return
        with anyio.move_on_after(LOOKS_WITHIN.total_seconds()):
            with suppress(McpAgentError):
                self._keep(await scenario.driver.picture(str(session_id)))
            with suppress(McpAgentError):
                await self._read(scenario.driver, str(session_id))

    async def found(self, scenario: Watched) -> None:
        """Look once more: the probe that runs has found what it finds, and nothing was done about it yet."""
        await self.look(scenario)
        self._found = self.now

    def _keep(self, picture: Json) -> None:
        frame = frame_of(picture, at_seconds=self.now)
        if not self.frames or self.frames[-1].lines != frame.lines:
            self.frames.append(frame)

    async def _read(self, driver: Driver, session_id: str) -> None:
        for told in await driver.events(session_id, after=self._cursor):
            self._cursor = max(self._cursor, int(str(told["seq"])))
            if event := event_of(told, began_at=self.began_at):
                self.events.append(event)
        for told in await driver.calls(session_id):
            call = call_of(told, began_at=self.began_at, known=self.calls.get(str(told["call_id"])))
            self.calls[call.call_id] = call
