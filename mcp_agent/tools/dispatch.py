"""From a tool's name and raw arguments to an answer that says what is known, written down before and after."""

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup

from mcp_agent.calls import ledger_events as facts
from mcp_agent.calls.gate import AnswerWith
from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Happened, Intent, WaitEnded, WhyEnded
from mcp_agent.calls.noting import note
from mcp_agent.calls.outcomes import Cancelled, Outcome, StoppedWaiting
from mcp_agent.calls.running import RunningCalls
from mcp_agent.calls.watchdog import SlowCall, watch
from mcp_agent.errors import ServerStopping, TurnAborted, UnknownTool
from mcp_agent.processes import ProcessIdentity, identify
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import ClientCeiling, Policy, ToolClass, tool_class
from mcp_agent.tools import gating, news, verdicts
from mcp_agent.tools.gating import Wanted
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
    turn_aborted: bool = False
    """The turn was interrupted: its later calls are refused."""
    tools: frozenset[str] | None = None
    """The tools that this caller has; None: all of them."""


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
    ledger: Ledger
    running: RunningCalls
    state: StateDirectory
    owner: TaskGroup
    """Work runs here, so that it outlives a wait."""
    server_stops: Callable[[], bool] = lambda: False
    """Whether this server is stopping while its sessions and commands go on."""

    async def call(self, caller: Caller, request: Request) -> ToolResult:
        """Run one call to its answer. Cancelling this cancels the work.

        Raises `UnknownTool`, `BadArguments`, `TurnAborted`, `DuplicateCall` or `LedgerUnusable` with nothing started;
        every other outcome is an answer.
        """
        tool = self.find(caller, request.category, request.tool)
        wanted = Wanted.of(tool, request.arguments)
        arguments = tool.validate(wanted.arguments)
        if caller.turn_aborted:
            raise TurnAborted(tool.name, caller.session_id)
        work = _Work(self, tool, arguments, self.context(caller, request.call_id), self._limit(tool, arguments, caller))
        intent = self._intent(work, caller, wanted)
        decision = await gating.decide(
            self.ledger,
            tool,
            intent,
            allow_duplicate=wanted.allow_duplicate,
            context=lambda call_id: self.context(caller, call_id),
        )
        await anyio.to_thread.run_sync(self.ledger.intent, request.call_id, intent)
        if isinstance(decision, AnswerWith):
            return self._gated(request.call_id, decision)
        gating.note_duplicates(self.ledger, request.call_id, decision)
        result = verdicts.answer(
            await self._run(work), call_id=request.call_id, tool=tool.name, session_id=caller.session_id
        )
        return news.with_late_outcomes(result, self.ledger, session_id=caller.session_id)

    def tools_of(self, caller: Caller) -> list[Tool[Any]]:
        return [tool for name, tool in self.tools.items() if self._allowed(caller, name)]

    def find(self, caller: Caller, category: Category, name: str) -> Tool[Any]:
        """The tool of this name, if the caller has it. Raises `UnknownTool`."""
        tool = self.tools.get(name)
        if tool is None or tool.category != category or not self._allowed(caller, name):
            raise UnknownTool(name, sorted(tool for tool in self.tools if self._allowed(caller, tool)))
        return tool

    def class_of(self, tool: Tool[Any]) -> ToolClass:
        """What the bridge is told of the tool, so that both sides nest their waits alike."""
        return tool_class(tool.name, long_running=tool.long_running)

    def context(self, caller: Caller, call_id: str) -> CallContext:
        return CallContext(
            call_id=call_id,
            session_id=caller.session_id,
            call_directory=self.state.call(call_id),
            working_directory=caller.working_directory,
            environment=caller.environment,
            work_limit=self.policy.server_tool,
            server_stops=self.server_stops,
        )

    def _limit(self, tool: Tool[Any], arguments: object, caller: Caller) -> timedelta:
        return self.policy.tool_wait(
            self.class_of(tool),
            declared=declared_wait(tool, arguments),
            ceiling=caller.client_ceiling,
            cli_has_limit=caller.cli_has_limit,
        )

    def _intent(self, work: "_Work", caller: Caller, wanted: Wanted) -> Intent:
        work_limit = self.policy.server_tool
        return Intent(
            session_id=caller.session_id,
            tool=work.tool.name,
            category=work.tool.category,
            arguments=wanted.arguments,
            digest=wanted.digest,
            turn_id=caller.turn_id,
            wait_limit_seconds=work.limit.total_seconds(),
            work_limit_seconds=work_limit.total_seconds() if work_limit else None,
            owner=this_server(),
            read_only=work.tool.read_only,
            idempotent=work.tool.idempotent,
        )

    def _gated(self, call_id: str, decision: AnswerWith) -> ToolResult:
        note(
            self.ledger,
            call_id,
            facts.Gated(decision.earlier.call_id),
            WaitEnded(WhyEnded.RESULT, 0.0),
            facts.Outcome(Happened.NOT_STARTED, detail=f"gated by {decision.earlier.call_id}"),
        )
        now = time.time()
        return ToolResult(decision.text(now), decision.structured(now))

    async def _run(self, work: "_Work") -> Outcome[ToolResult]:
        """Wait for the work, and write down how the wait ended before anybody is told."""
        context, outcome = work.context, None
        with self.running.wait(context.call_id, session_id=context.session_id) as scope:
            try:
                outcome = await watch(
                    self.owner,
                    work.run,
                    call_id=context.call_id,
                    tool=work.tool.name,
                    session_id=context.session_id,
                    limit=work.limit,
                    work_limit=self.policy.server_tool,
                    on_slow=work.is_slow,
                    on_late=work.settled_late,
                )
            except anyio.get_cancelled_exc_class():
                stopped = work.stopped(owner="session" if scope.cancel_called else "caller")
                if not self.server_stops():
                    note(
                        self.ledger,
                        context.call_id,
                        WaitEnded(WhyEnded.CANCEL, stopped.elapsed_seconds),
                        *work.never_began(),
                    )
                raise
            work.given_up = isinstance(outcome, StoppedWaiting)
            ended = WaitEnded(verdicts.why(outcome), work.elapsed_seconds)
            note(self.ledger, context.call_id, ended, verdicts.observed(outcome))
        if outcome is None and self.server_stops():
            raise ServerStopping(context.call_id, work.tool.name)
        outcome = outcome or stopped
        verdicts.note(outcome, call_id=context.call_id, session_id=context.session_id)
        return outcome

    def _allowed(self, caller: Caller, name: str) -> bool:
        return caller.tools is None or name in caller.tools


@dataclass(slots=True)
class _Work:
    """The work of one call, and what became of it when its caller left first."""

    dispatcher: Dispatcher
    tool: Tool[Any]
    arguments: object
    context: CallContext
    limit: timedelta
    began: bool = False
    given_up: bool = False
    """Nobody waits any more, and nobody cancelled it."""
    opened_at_seconds: float = field(default_factory=anyio.current_time)

    @property
    def elapsed_seconds(self) -> float:
        return anyio.current_time() - self.opened_at_seconds

    async def run(self) -> ToolResult:
        self.began = True
        note(self.dispatcher.ledger, self.context.call_id, facts.Dispatched())
        with self.dispatcher.running.work(self.context.call_id, session_id=self.context.session_id):
            return await self.tool.run(self.context, self.arguments)
        return ToolResult("", happened=Happened.CANCELLED, why=WhyEnded.CANCEL)

    async def is_slow(self, call: SlowCall) -> None:
        log.info("tool.slow %s %s of %s: %.0f s", call.call_id, call.tool, call.session_id, call.elapsed_seconds)
        note(self.dispatcher.ledger, call.call_id, facts.Slow(call.elapsed_seconds, call.limit_seconds))

    async def settled_late(self, outcome: Outcome[ToolResult]) -> None:
        """What nobody waited for: the end of a call that was given up, or of the clean-up of a cancelled one."""
        if self.dispatcher.server_stops():
            return
        fact = verdicts.observed(outcome, late=self.given_up)
        session_id, call_id = self.context.session_id, self.context.call_id
        log.info("tool.late_outcome %s %s of %s: %s", call_id, self.tool.name, session_id, fact.happened)
        note(self.dispatcher.ledger, call_id, fact)

    def never_began(self) -> list[facts.Outcome]:
        return [] if self.began else [facts.Outcome(Happened.NOT_STARTED)]

    def stopped(self, *, owner: str) -> Cancelled:
        return Cancelled(
            call_id=self.context.call_id,
            tool=self.tool.name,
            session_id=self.context.session_id,
            layer="cancel",
            owner=owner,
            elapsed_seconds=self.elapsed_seconds,
        )


def this_server() -> ProcessIdentity:
    """Who runs the calls of this process, for whoever finds them after it."""
    me = identify(os.getpid())
    assert me is not None
    return me
