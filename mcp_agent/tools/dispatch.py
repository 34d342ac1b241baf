"""From a tool's name and raw arguments to an answer that says what is known, written down before and after."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from anyio.abc import TaskGroup

from mcp_agent.calls.gate import AnswerWith, Run
from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Intent
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.calls.noting import write_ahead
from mcp_agent.calls.running import RunningCalls
from mcp_agent.errors import CallNotTaken, DuplicateCall, LedgerUnusable, TurnAborted, UnknownTool
from mcp_agent.processes import ProcessIdentity, identify
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import ClientCeiling, Policy, ToolClass, tool_class
from mcp_agent.tools import gating, news, verdicts
from mcp_agent.tools.gating import Wanted
from mcp_agent.tools.telling import Telling, nobody
from mcp_agent.tools.tool import CallContext, Category, Recoverable, Tool, ToolResult, declared_wait, recoverable
from mcp_agent.tools.work import Work


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
    tell: Telling = nobody

    async def call(self, caller: Caller, request: Request) -> ToolResult:
        """Run one call to its answer. Cancelling this cancels the work.

        Raises `UnknownTool`, `BadArguments`, `TurnAborted`, `CallNotTaken`, `DuplicateCall` or `LedgerUnusable` with
        nothing started, and `ServerStopping`; every other outcome is an answer.
        """
        tool = self.find(caller, request.category, request.tool)
        wanted = Wanted.of(tool, request.arguments)
        arguments = tool.validate(wanted.arguments)
        self._refuse_when_ending(caller, tool)
        limit = self._limit(tool, arguments, caller)
        intent = self._intent(caller, tool, wanted=wanted, limit=limit)
        decision = await self._admit(caller, tool, call_id=request.call_id, intent=intent, wanted=wanted)
        if isinstance(decision, AnswerWith):
            now = time.time()
            result = ToolResult(decision.text(now), decision.structured(now))
        else:
            context = self.context(caller, request.call_id, wait_limit=limit)
            outcome = await Work(tool, arguments, context, limit, self.ledger, self.running, self.tell).outcome(
                self.owner
            )
            result = verdicts.answer(outcome, context, tool=tool.name)
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

    def context(self, caller: Caller, call_id: str, *, wait_limit: timedelta | None = None) -> CallContext:
        return CallContext(
            call_id=call_id,
            session_id=caller.session_id,
            call_directory=self.state.call(call_id),
            working_directory=caller.working_directory,
            environment=caller.environment,
            work_limit=self.policy.server_tool,
            wait_limit=wait_limit,
            server_stops=self.server_stops,
        )

    def _context_of(self, earlier: CallState, caller: Caller) -> CallContext:
        """What an earlier call of the same session ran with; the caller's own directory may be another one now."""
        directory = earlier.intent.working_directory
        where = caller.working_directory if directory is None else Path(directory)
        return self.context(replace(caller, working_directory=where), earlier.call_id)

    async def _admit(
        self, caller: Caller, tool: Tool[Any], *, call_id: str, intent: Intent, wanted: Wanted
    ) -> Run | AnswerWith:
        """Whether the call may run, with its intent on record. Raises `LedgerUnusable` and `DuplicateCall`."""
        try:
            decision = await gating.decide(
                self.ledger,
                tool,
                intent,
                allow_duplicate=wanted.allow_duplicate,
                context=lambda earlier: self._context_of(earlier, caller),
            )
            lasting = recoverable(tool) if isinstance(decision, Run) else None
            with nullcontext() if lasting is None else _announced(lasting, self.context(caller, call_id)):
                await write_ahead(self.ledger, call_id, intent)
            gating.note_decision(self.ledger, call_id, decision)
        except LedgerUnusable as error:
            raise LedgerUnusable(error.path, f"{error.problem}; {tool.name} was not started") from error
        return decision

    def _refuse_when_ending(self, caller: Caller, tool: Tool[Any]) -> None:
        if caller.turn_aborted:
            raise TurnAborted(tool.name, caller.session_id)
        if self.server_stops():
            raise CallNotTaken(tool.name)

    def _limit(self, tool: Tool[Any], arguments: object, caller: Caller) -> timedelta:
        return self.policy.tool_wait(
            self.class_of(tool),
            declared=declared_wait(tool, arguments),
            ceiling=caller.client_ceiling,
            cli_has_limit=caller.cli_has_limit,
        )

    def _intent(self, caller: Caller, tool: Tool[Any], *, wanted: Wanted, limit: timedelta) -> Intent:
        work_limit = self.policy.server_tool
        return Intent(
            session_id=caller.session_id,
            tool=tool.name,
            category=tool.category,
            arguments=wanted.arguments,
            digest=wanted.digest,
            turn_id=caller.turn_id,
            wait_limit_seconds=limit.total_seconds(),
            work_limit_seconds=work_limit.total_seconds() if work_limit else None,
            owner=this_server(),
            read_only=tool.read_only,
            idempotent=tool.idempotent,
            working_directory=os.fspath(caller.working_directory),
        )

    def _allowed(self, caller: Caller, name: str) -> bool:
        return caller.tools is None or name in caller.tools


@contextmanager
def _announced(tool: Recoverable, context: CallContext) -> Iterator[None]:
    """A call that is about to be written down and run; nothing of it is left when it could not be written down."""
    tool.announce(context)
    try:
        yield
    except DuplicateCall:
        raise
    except BaseException:
        tool.withdraw(context)
        raise


@cache
def this_server() -> ProcessIdentity:
    """Who runs the calls of this process, for whoever finds them after it."""
    me = identify(os.getpid())
    assert me is not None
    return me
