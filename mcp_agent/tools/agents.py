"""The tools by which an agent has other agents work for it, durably.

Each call is answered as soon as the execution is on disk. A session sees the executions that it started, and no others.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import anyio
from pydantic import Field

from mcp_agent.errors import BadArguments, UnknownExecution
from mcp_agent.executions.asking import Wish
from mcp_agent.executions.records import UNFINISHED, ExecutionRecord
from mcp_agent.executions.service import Executions
from mcp_agent.executions.telling import shortened
from mcp_agent.executions.views import execution_view
from mcp_agent.sessions.live import LiveSession
from mcp_agent.tools.bounds import SHOWN_BYTES, fitting
from mcp_agent.tools.tool import CallContext, Tool, ToolResult, Verdict
from mcp_agent.tools.virtual import (
    ANSWERS_WITHIN,
    LISTED,
    LONGEST_WAIT,
    ArgumentsT,
    ToolArguments,
    VirtualTool,
    waited_in_time,
)

TOLD_INSTRUCTIONS = 200


class _Start(ToolArguments):
    instructions: Annotated[
        str, Field(min_length=1, description="The whole task. The agent sees nothing of your own conversation.")
    ]
    working_directory: Annotated[Path | None, Field(description="Absolute; default: yours, or the agent's own.")] = None
    deadline_seconds: Annotated[
        float | None,
        Field(gt=0, le=365 * 86400, description="The work is stopped after so long; default: the agent's own limit."),
    ] = None
    idempotency_key: Annotated[
        str | None,
        Field(min_length=1, max_length=200, description="The same key with the same task answers the same execution."),
    ] = None
    notify: Annotated[bool, Field(description="Tell me the result as a message when I am free.")] = True


class SubAgent(_Start):
    agent: Annotated[str, Field(min_length=1, max_length=100, description="The name of a configured agent.")]


class GenericAgent(_Start):
    provider: Annotated[str, Field(min_length=1, max_length=100, description="The coding-agent CLI that does it.")]
    model: Annotated[str | None, Field(description="Default: the provider's own.")] = None
    tools: Annotated[frozenset[str] | None, Field(description="Only these of your tools; default: all.")] = None


ExecutionId = Annotated[str, Field(min_length=1, max_length=64, description="Such as x-1f….")]


class OneExecution(ToolArguments):
    execution_id: ExecutionId


class WaitedExecution(ToolArguments):
    execution_id: ExecutionId
    timeout_seconds: Annotated[
        float, Field(gt=0, le=LONGEST_WAIT.total_seconds(), description="How long to wait for its end.")
    ] = 60.0


class SomeExecutions(ToolArguments):
    unfinished_only: Annotated[bool, Field(description="Only those that have not ended.")] = False


@dataclass(slots=True)
class _AgentTool(VirtualTool[ArgumentsT]):
    """What these tools have in common."""

    executions: Executions

    def _caller(self, context: CallContext) -> LiveSession:
        """The session that calls. Raises `BadArguments` for a person's call by hand: nobody would be the parent."""
        found = next((one for one in self.executions.sessions.all() if one.id == context.session_id), None)
        if found is None:
            raise BadArguments(self.name, ["only a session calls it; people have `mcp-agent executions`"])
        return found

    def _own(self, context: CallContext, execution_id: str) -> ExecutionRecord:
        """The execution, if the session that asks started it; raises `BadArguments`."""
        try:
            record = self.executions.get(execution_id)
        except UnknownExecution:
            record = None
        if record is None or record.parent_session != context.session_id:
            raise BadArguments(self.name, [f"execution_id: this session has started no execution {execution_id}"])
        return record

    def _facts(self, record: ExecutionRecord) -> dict[str, object]:
        facts = execution_view(record, self.executions)
        facts["instructions"] = record.task[:TOLD_INSTRUCTIONS]
        return {name: value for name, value in facts.items() if value is not None and name != "task"}

    async def _told(self, record: ExecutionRecord) -> ToolResult:
        """The execution's facts; a result that is told here need not be delivered as well."""
        await self.executions.delivery.answered(record)
        facts = self._facts(self.executions.get(record.id))
        return _result(facts)


class _Starting(_AgentTool[ArgumentsT]):
    read_only = False
    idempotent = False

    async def check(self, call_id: str, context: CallContext, arguments: ArgumentsT) -> Verdict:
        """An execution is on disk before its call is answered, so the disk tells."""
        record = await anyio.to_thread.run_sync(self.executions.store.of_call, call_id)
        if record is None:
            return Verdict("did_not_happen", "no execution of this call is on record")
        return Verdict("happened", f"it started execution {record.id}: get_execution tells how it stands")

    async def _start(self, context: CallContext, wish: Wish) -> ToolResult:
        caller = self.executions.caller_of(self._caller(context), call_id=context.call_id)
        record = await self.executions.start(wish, caller)
        told = "its result comes to you as a message when you are free" if wish.notify else "its result is kept"
        facts: dict[str, object] = {
            "execution_id": record.id,
            "state": record.state,
            "agent": record.agent or record.child.provider,
            "deadline_at": record.deadline_at,
            "message": f"Accepted and kept; {told}. get_execution, wait_execution and cancel_execution take its id.",
        }
        return _result(facts)


class CallSubAgent(_Starting[SubAgent]):
    name = "call_sub_agent"
    model = SubAgent

    @property
    def description(self) -> str:  # type: ignore[override]
        names = ", ".join(sorted(self.executions.config.agents)) or "none is configured"
        return (
            "Have a configured agent do a task in a session of its own. Answers at once with an execution_id; the work"
            f" goes on whatever becomes of you. Agents: {names}."
        )

    async def run(self, context: CallContext, arguments: SubAgent) -> ToolResult:
        return await self._start(context, _wish(arguments, agent=arguments.agent))


class CallGenericAgent(_Starting[GenericAgent]):
    name = "call_generic_agent"
    model = GenericAgent
    description = (
        "Have any installed coding-agent CLI do a task in a session of its own. Answers at once with an execution_id;"
        " the work goes on whatever becomes of you."
    )

    async def run(self, context: CallContext, arguments: GenericAgent) -> ToolResult:
        more = {"provider": arguments.provider, "model": arguments.model, "tools": arguments.tools}
        return await self._start(context, _wish(arguments, **more))


class GetExecution(_AgentTool[OneExecution]):
    name = "get_execution"
    description = "Look up one of the executions that you started: its state, and its result once it has ended."
    model = OneExecution

    async def run(self, context: CallContext, arguments: OneExecution) -> ToolResult:
        return await self._told(self._own(context, arguments.execution_id))


class WaitExecution(_AgentTool[WaitedExecution]):
    name = "wait_execution"
    description = (
        "Wait until one of your executions has ended, or until timeout_seconds have passed, and answer what is known"
        " of it then. A wait that ends first changes nothing about the execution."
    )
    model = WaitedExecution
    long_running = True

    def wait_limit(self, arguments: WaitedExecution) -> timedelta | None:
        return timedelta(seconds=arguments.timeout_seconds) + ANSWERS_WITHIN

    async def run(self, context: CallContext, arguments: WaitedExecution) -> ToolResult:
        record = self._own(context, arguments.execution_id)
        limit = waited_in_time(timedelta(seconds=arguments.timeout_seconds), context)
        with self.executions.delivery.watched(record.id):
            return await self._told(await self.executions.wait(record.id, limit=limit))


class CancelExecution(_AgentTool[OneExecution]):
    name = "cancel_execution"
    description = (
        "Stop one of your executions: its turn, its session and all their processes. What it did before stays done."
    )
    model = OneExecution
    read_only = False

    async def run(self, context: CallContext, arguments: OneExecution) -> ToolResult:
        record = self._own(context, arguments.execution_id)
        with self.executions.delivery.watched(record.id):
            await self.executions.cancel(record.id, by="agent")
            return await self._told(self.executions.get(record.id))


class ListExecutions(_AgentTool[SomeExecutions]):
    name = "list_executions"
    description = f"List the executions that you started, newest first, {LISTED} at most."
    model = SomeExecutions

    async def run(self, context: CallContext, arguments: SomeExecutions) -> ToolResult:
        states = UNFINISHED if arguments.unfinished_only else None
        found = self.executions.select(parent=context.session_id, states=states, limit=LISTED)
        facts = [self._facts(record) | {"final_text": None} for record in reversed(found)]
        shown = fitting(facts, budget_bytes=SHOWN_BYTES)
        omitted = {"omitted_executions": len(facts) - len(shown)} if len(shown) < len(facts) else {}
        return _result({"executions": shown, **omitted})


AGENT_TOOL_NAMES = (
    CallSubAgent.name,
    CallGenericAgent.name,
    GetExecution.name,
    WaitExecution.name,
    CancelExecution.name,
    ListExecutions.name,
)


def agent_tools(executions: Executions) -> list[Tool[Any]]:
    """All of them, for the executions of one server."""
    return [
        CallSubAgent(executions),
        CallGenericAgent(executions),
        GetExecution(executions),
        WaitExecution(executions),
        CancelExecution(executions),
        ListExecutions(executions),
    ]


def _wish(start: _Start, **more: Any) -> Wish:
    return Wish(
        instructions=start.instructions,
        working_directory=start.working_directory,
        deadline=None if start.deadline_seconds is None else timedelta(seconds=start.deadline_seconds),
        idempotency_key=start.idempotency_key,
        notify=start.notify,
        **more,
    )


def _result(facts: Mapping[str, object]) -> ToolResult:
    text, execution_id = facts.get("final_text"), str(facts.get("execution_id"))
    if isinstance(text, str):
        facts = {**facts, "final_text": shortened(text, execution_id)}
    return ToolResult(json.dumps(facts, ensure_ascii=False), facts)
