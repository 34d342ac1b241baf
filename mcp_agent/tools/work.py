"""The work of one call: watched, written down as it goes, and told to whoever still waits for it."""

import logging
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import anyio
from anyio.abc import TaskGroup

from mcp_agent.calls import ledger_events as facts
from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Happened, WaitEnded, WhyEnded
from mcp_agent.calls.noting import note
from mcp_agent.calls.outcomes import Cancelled, Outcome, StoppedWaiting
from mcp_agent.calls.running import RunningCalls
from mcp_agent.calls.watchdog import SlowCall, watch
from mcp_agent.errors import ServerStopping
from mcp_agent.tools import verdicts
from mcp_agent.tools.telling import Telling, nobody
from mcp_agent.tools.tool import CallContext, Tool, ToolResult, recoverable

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Work:
    """One call that may run, and what becomes of it, also when its caller leaves first."""

    tool: Tool[Any]
    arguments: object
    context: CallContext
    limit: timedelta
    ledger: Ledger
    running: RunningCalls
    tell: Telling = nobody
    began: bool = False
    given_up: bool = False
    """Nobody waits any more, and nobody cancelled it."""
    opened_at_seconds: float = field(default_factory=anyio.current_time)

    async def outcome(self, owner: TaskGroup) -> Outcome[ToolResult]:
        """Wait for the work, and write down how the wait ended before anybody is told.

        The work runs in `owner`. Raises `ServerStopping` when it goes on without this server.
        """
        outcome: Outcome[ToolResult] | None = None
        self._tell("call.started", limit_seconds=self.limit.total_seconds())
        with self.running.wait(self.context.call_id, session_id=self.context.session_id) as waiting:
            try:
                outcome = await self._watched(owner)
            except anyio.get_cancelled_exc_class():
                self._left(waiting.cancelled_by or "caller")
                raise
            self.given_up = isinstance(outcome, StoppedWaiting)
            self._ended(WaitEnded(verdicts.why(outcome), self._elapsed_seconds), verdicts.observed(outcome))
            verdicts.log_unusual(outcome, call_id=self.context.call_id, session_id=self.context.session_id)
        if outcome is not None:
            return outcome
        if self._goes_on:
            raise ServerStopping(self.context.call_id, self.tool.name)
        return self._cancelled(waiting.cancelled_by or "caller")

    async def _watched(self, owner: TaskGroup) -> Outcome[ToolResult]:
        return await watch(
            owner,
            self._run,
            call_id=self.context.call_id,
            tool=self.tool.name,
            session_id=self.context.session_id,
            limit=self.limit,
            work_limit=self.context.work_limit,
            on_slow=self._is_slow,
            on_late=self._settled_late,
        )

    async def _run(self) -> ToolResult:
        self.began = True
        with self.running.work(self.context.call_id, session_id=self.context.session_id):
            return await self.tool.run(self.context, self.arguments)
        return ToolResult("", happened=Happened.CANCELLED, why=WhyEnded.CANCEL)

    async def _is_slow(self, call: SlowCall) -> None:
        log.info("tool.slow %s %s of %s: %.0f s", call.call_id, call.tool, call.session_id, call.elapsed_seconds)
        self._note(facts.Slow(call.elapsed_seconds, call.limit_seconds))
        self._tell("tool.slow", elapsed_seconds=call.elapsed_seconds, limit_seconds=call.limit_seconds)

    async def _settled_late(self, outcome: Outcome[ToolResult]) -> None:
        """What nobody waited for: the end of a call that was given up, or of the clean-up of a cancelled one."""
        if self._goes_on:
            return
        fact = verdicts.observed(outcome, late=self.given_up)
        session_id, call_id = self.context.session_id, self.context.call_id
        log.info("tool.late_outcome %s %s of %s: %s", call_id, self.tool.name, session_id, fact.happened)
        self._note(fact)
        self._tell("tool.late_outcome", happened=fact.happened)

    def _left(self, by: str) -> None:
        """Write down that the wait was cancelled; what becomes of the work is another fact."""
        if self._goes_on:
            return
        never_began = [] if self.began else [facts.Outcome(Happened.NOT_STARTED)]
        self._ended(WaitEnded(WhyEnded.CANCEL, self._elapsed_seconds), *never_began)
        verdicts.log_unusual(self._cancelled(by), call_id=self.context.call_id, session_id=self.context.session_id)

    @property
    def _goes_on(self) -> bool:
        """Whether a cancellation left the work alone, for the next server to follow."""
        return self.began and self.context.server_stops() and recoverable(self.tool) is not None

    @property
    def _elapsed_seconds(self) -> float:
        return anyio.current_time() - self.opened_at_seconds

    def _ended(self, wait: WaitEnded, *observed: facts.Outcome) -> None:
        self._note(wait, *observed)
        happened = observed[0].happened if observed else None
        self._tell("call.ended", why=wait.why, happened=happened, elapsed_seconds=wait.waited_seconds)

    def _tell(self, kind: str, **more: object) -> None:
        self.tell(self.context.session_id, kind, call_id=self.context.call_id, tool=self.tool.name, **more)

    def _note(self, *events: facts.Event) -> None:
        note(self.ledger, self.context.call_id, *events)

    def _cancelled(self, owner: str) -> Cancelled:
        return Cancelled(
            call_id=self.context.call_id,
            tool=self.tool.name,
            session_id=self.context.session_id,
            layer="cancel",
            owner=owner,
            elapsed_seconds=self._elapsed_seconds,
        )
