"""From a tool's name and raw arguments to an answer that says what is known."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from anyio.abc import TaskGroup

from mcp_agent.calls.log import CallLog, CallRecord, Happened, WhyEnded
from mcp_agent.calls.outcomes import Answered, Cancelled, Outcome, Raised, StoppedWaiting
from mcp_agent.calls.watchdog import SlowCall, watch
from mcp_agent.errors import BadArguments, ToolError, UnknownTool
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import ClientCeiling, Policy, ToolClass, tool_class
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
        outcome: Outcome[ToolResult] | None = None
        with self.calls.open(record):
            outcome = await self._watch(tool, arguments, caller=caller, call_id=request.call_id)
            self.calls.end(record.call_id, why=_why(outcome), happened=_happened(outcome))
        return _answer(outcome or _stopped_by_somebody(record))

    def class_of(self, tool: Tool[Any]) -> ToolClass:
        """What the bridge is told of the tool, so that both sides nest their waits alike."""
        return tool_class(tool.name, long_running=tool.long_running)

    def _find(self, request: Request) -> Tool[Any]:
        tool = self.tools.get(request.tool)
        if tool is None or tool.category != request.category:
            raise UnknownTool(request.tool, sorted(self.tools))
        return tool

    async def _watch(self, tool: Tool[Any], arguments: object, *, caller: Caller, call_id: str) -> Outcome[ToolResult]:
        declared = declared_wait(tool, arguments)
        limit = self.policy.tool_wait(
            self.class_of(tool), declared=declared, ceiling=caller.client_ceiling, cli_has_limit=caller.cli_has_limit
        )
        context = CallContext(
            call_id=call_id,
            session_id=caller.session_id,
            call_directory=self.state.call(call_id),
            working_directory=caller.working_directory,
            environment=caller.environment,
            work_limit=self.policy.server_tool,
        )

        async def work() -> ToolResult:
            return await tool.run(context, arguments)

        return await watch(
            self.owner,
            work,
            call_id=call_id,
            tool=tool.name,
            session_id=caller.session_id,
            limit=limit,
            work_limit=self.policy.server_tool,
            on_slow=_log_slow,
            on_late=_log_late,
        )


def _stopped_by_somebody(record: CallRecord) -> Cancelled:
    return Cancelled(
        call_id=record.call_id,
        tool=record.tool,
        session_id=record.session_id,
        layer="cancel",
        owner="session",
        elapsed_seconds=time.time() - record.started_at,
    )


def _answer(outcome: Outcome[ToolResult]) -> ToolResult:
    match outcome:
        case Answered(result=result):
            return result
        case Raised(error=ToolError() as error):
            raise error
        case Raised(error=error):
            log.error("a tool raised", exc_info=error)
            return ToolResult(f"ERROR: layer=server_tool owner=server: {type(error).__name__}: {error}")
        case StoppedWaiting() | Cancelled():
            return ToolResult(outcome.text(), outcome.structured())


def _why(outcome: Outcome[ToolResult]) -> WhyEnded:
    match outcome:
        case StoppedWaiting():
            return WhyEnded.TOOL_WAIT
        case Cancelled(layer="server_tool"):
            return WhyEnded.SERVER_TOOL
        case Cancelled():
            return WhyEnded.CANCEL
        case _:
            return WhyEnded.RESULT


def _happened(outcome: Outcome[ToolResult]) -> Happened:
    match outcome:
        case Answered(result=result):
            return _by_exit(result)
        case Raised(error=ToolError()):
            return Happened.NOT_STARTED
        case Cancelled():
            return Happened.CANCELLED
        case _:
            return Happened.UNKNOWN


def _by_exit(result: ToolResult) -> Happened:
    """A result is a success, but for a known exit that is not zero."""
    facts = result.structured or {}
    failed = facts.get("exit_status") not in {0, None} or facts.get("signal") is not None
    return Happened.FAILED if failed else Happened.SUCCEEDED


async def _log_slow(call: SlowCall) -> None:
    log.info("tool.slow %s %s of %s: %.0f s", call.call_id, call.tool, call.session_id, call.elapsed_seconds)


async def _log_late(outcome: Outcome[ToolResult]) -> None:
    log.info("tool.late_outcome %s", type(outcome).__name__)
