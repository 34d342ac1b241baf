"""From a tool's name and raw arguments to an answer that says what is known."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from mcp_agent.calls.log import CallLog, CallRecord, Happened, WhyEnded
from mcp_agent.calls.outcomes import Cancelled, Outcome
from mcp_agent.calls.watchdog import SlowCall, watch
from mcp_agent.errors import BadArguments, SessionEnded, UnknownTool
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import ClientCeiling, Policy, ToolClass, tool_class
from mcp_agent.tools import verdicts
from mcp_agent.tools.tool import CallContext, Category, Tool, ToolResult, declared_wait

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: what its token proves, never what it says about itself."""

    session_id: str
    working_directory: Path
    environment: Mapping[str, str] = field(repr=False)
    client_ceiling: ClientCeiling | None = None
    cli_has_limit: bool = True
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One call as the bridge sent it."""

    call_id: str
    category: Category
    tool: str
    arguments: Mapping[str, object]


@dataclass(slots=True)
class Dispatcher:
    """The tools of a server, and the only way to run one."""

    tools: Mapping[str, Tool[Any]]
    policy: Policy
    calls: CallLog
    state: StateDirectory
    owner: TaskGroup
    """Work runs here, so that it outlives a wait."""

    async def call(self, caller: Caller, request: Request) -> ToolResult:
        """Run one call to its answer. Cancelling this cancels the work.

        Raises `UnknownTool` or `BadArguments` with nothing started; every other outcome is an answer.
        """
        tool = self._find(request)
        arguments = tool.validate(request.arguments)
        if self.calls.knows(request.call_id):
            raise BadArguments(tool.name, [f"call id {request.call_id} was used before"])
        record = CallRecord(
            request.call_id, caller.session_id, tool.name, request.arguments, time.time(), caller.turn_id
        )
        work = _Work(tool, arguments, self._context(caller, request.call_id), record, self.calls)
        outcome: Outcome[ToolResult] | None = None
        with self.calls.open(record) as scope:
            try:
                outcome = await self._watch(work, caller)
            except anyio.get_cancelled_exc_class():
                stopped = work.stopped(owner="session" if scope.cancel_called else "caller")
                verdicts.note(record, stopped)
                self.calls.end(record.call_id, why=WhyEnded.CANCEL, happened=work.happened())
                raise
            self.calls.end(record.call_id, why=verdicts.why(outcome), happened=verdicts.happened(outcome))
        outcome = outcome or stopped
        verdicts.note(record, outcome)
        return verdicts.answer(record, outcome)

    def class_of(self, tool: Tool[Any]) -> ToolClass:
        """What the bridge is told of the tool, so that both sides nest their waits alike."""
        return tool_class(tool.name, long_running=tool.long_running)

    def _find(self, request: Request) -> Tool[Any]:
        tool = self.tools.get(request.tool)
        if tool is None or tool.category != request.category:
            raise UnknownTool(request.tool, sorted(self.tools))
        return tool

    def _context(self, caller: Caller, call_id: str) -> CallContext:
        return CallContext(
            call_id=call_id,
            session_id=caller.session_id,
            call_directory=self.state.call(call_id),
            working_directory=caller.working_directory,
            environment=caller.environment,
            work_limit=self.policy.server_tool,
        )

    async def _watch(self, work: "_Work", caller: Caller) -> Outcome[ToolResult]:
        limit = self.policy.tool_wait(
            self.class_of(work.tool),
            declared=declared_wait(work.tool, work.arguments),
            ceiling=caller.client_ceiling,
            cli_has_limit=caller.cli_has_limit,
        )
        return await watch(
            self.owner,
            work.run,
            call_id=work.record.call_id,
            tool=work.tool.name,
            session_id=caller.session_id,
            limit=limit,
            work_limit=self.policy.server_tool,
            on_slow=_log_slow,
            on_late=work.settled_late,
        )


@dataclass(slots=True)
class _Work:
    """The work of one call, and what became of it when its caller left first."""

    tool: Tool[Any]
    arguments: object
    context: CallContext
    record: CallRecord
    calls: CallLog
    began: bool = False
    late: Outcome[ToolResult] | None = None
    opened_at_seconds: float = field(default_factory=anyio.current_time)

    async def run(self) -> ToolResult:
        self.began = True
        with self.calls.work(self.record):
            return await self.tool.run(self.context, self.arguments)
        raise SessionEnded(self.record.session_id, "it was stopped, and this call with it")

    async def settled_late(self, outcome: Outcome[ToolResult]) -> None:
        self.late = outcome
        happened = verdicts.happened(outcome)
        log.info(
            "tool.late_outcome %s %s of %s: %s", self.record.call_id, self.tool.name, self.record.session_id, happened
        )

    def happened(self) -> Happened:
        """What a cancelled caller leaves on record: what was observed, and nothing else."""
        if not self.began:
            return Happened.NOT_STARTED
        return Happened.UNKNOWN if self.late is None else verdicts.happened(self.late)

    def stopped(self, *, owner: str) -> Cancelled:
        return Cancelled(
            call_id=self.record.call_id,
            tool=self.record.tool,
            session_id=self.record.session_id,
            layer="cancel",
            owner=owner,
            elapsed_seconds=anyio.current_time() - self.opened_at_seconds,
        )


async def _log_slow(call: SlowCall) -> None:
    log.info("tool.slow %s %s of %s: %.0f s", call.call_id, call.tool, call.session_id, call.elapsed_seconds)
