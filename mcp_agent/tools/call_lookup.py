"""The tools by which an agent asks about its calls. Looking up never restarts any work.

A session sees its own calls and no others.
"""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import anyio
from pydantic import Field

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Offered
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.calls.noting import note
from mcp_agent.calls.running import RunningCalls
from mcp_agent.calls.views import call_facts
from mcp_agent.calls.waiting import until_settled
from mcp_agent.errors import BadArguments, UnknownCall
from mcp_agent.state import StateDirectory
from mcp_agent.tools.bounds import SHOWN_BYTES, brief, fitting
from mcp_agent.tools.call_outputs import Stream, last_output_at, page, streams
from mcp_agent.tools.tool import CallContext, ToolResult
from mcp_agent.tools.virtual import (
    ANSWERS_WITHIN,
    LISTED,
    LONGEST_WAIT,
    ArgumentsT,
    ToolArguments,
    VirtualTool,
    waited_in_time,
)

PAGE_BYTES = 32 << 10

CallId = Annotated[str, Field(min_length=1, max_length=64, description="The id of the call, such as call_1f….")]


class OneCall(ToolArguments):
    call_id: CallId


class SomeCalls(ToolArguments):
    unknown_only: Annotated[bool, Field(description="Only calls whose outcome nobody knows.")] = False


class Waiting(ToolArguments):
    call_id: CallId
    timeout_seconds: Annotated[
        float, Field(gt=0, le=LONGEST_WAIT.total_seconds(), description="How long to wait for the call to end.")
    ] = 60.0


class OutputPage(ToolArguments):
    call_id: CallId
    stream: Annotated[Stream, Field(description="Which output; default: the first one that the call has.")] | None = (
        None
    )
    offset: Annotated[int, Field(ge=0, description="In bytes.")] = 0
    limit: Annotated[int, Field(ge=1, le=PAGE_BYTES, description="In bytes.")] = PAGE_BYTES


@dataclass(slots=True)
class _LookUp(VirtualTool[ArgumentsT]):
    """What the tools about calls have in common: they change nothing."""

    ledger: Ledger
    running: RunningCalls
    state: StateDirectory

    def _own(self, context: CallContext, call_id: str) -> CallState:
        """The call, if it is one of the session that asks; raises `BadArguments`."""
        try:
            call = self.ledger.get(call_id)
        except UnknownCall:
            call = None
        if call is None or call.session_id != context.session_id:
            raise BadArguments(self.name, [f"call_id: this session has no call {call_id}"])
        return call

    def _facts(self, call: CallState) -> dict[str, object]:
        return brief(call_facts(call, last_output_at=last_output_at(self.state.call(call.call_id))))

    def _told(self, call: CallState) -> ToolResult:
        """The call's facts; a late outcome that is told here need not be offered again."""
        if call.late and not call.answered:
            note(self.ledger, call.call_id, Offered(asked=True))
        facts = self._facts(call) | {"output": streams(self.state.call(call.call_id))}
        return ToolResult(json.dumps(facts, ensure_ascii=False), facts)


class GetToolCall(_LookUp[OneCall]):
    name = "get_tool_call"
    description = (
        "Look up what is known of one of your tool calls: why the wait for it ended, what happened, and the end of its"
        " output. Never runs anything again."
    )
    model = OneCall

    async def run(self, context: CallContext, arguments: OneCall) -> ToolResult:
        return self._told(self._own(context, arguments.call_id))


class ListToolCalls(_LookUp[SomeCalls]):
    name = "list_tool_calls"
    description = (
        f"List your latest tool calls, newest first, {LISTED} at most. unknown_only: those of unknown outcome."
    )
    model = SomeCalls

    async def run(self, context: CallContext, arguments: SomeCalls) -> ToolResult:
        def found() -> list[dict[str, object]]:
            calls = self.ledger.list(session=context.session_id, unknown_only=arguments.unknown_only, limit=LISTED)
            return [self._facts(call) for call in calls if call.call_id != context.call_id]

        calls = await anyio.to_thread.run_sync(found)
        shown = fitting(calls, budget_bytes=SHOWN_BYTES)
        facts: dict[str, object] = {"calls": shown}
        if len(shown) < len(calls):
            facts["omitted_calls"] = len(calls) - len(shown)
        return ToolResult(json.dumps(facts, ensure_ascii=False), facts)


class WaitToolCall(_LookUp[Waiting]):
    name = "wait_tool_call"
    description = (
        "Wait until one of your earlier tool calls has ended, or until timeout_seconds have passed, and answer what is"
        " known of it then. Never runs anything again."
    )
    model = Waiting
    long_running = True

    def wait_limit(self, arguments: Waiting) -> timedelta | None:
        return timedelta(seconds=arguments.timeout_seconds) + ANSWERS_WITHIN

    async def run(self, context: CallContext, arguments: Waiting) -> ToolResult:
        call = self._own(context, arguments.call_id)
        limit = waited_in_time(timedelta(seconds=arguments.timeout_seconds), context)
        return self._told(await until_settled(self.ledger, self.running, call.call_id, limit=limit))


class GetToolOutput(_LookUp[OutputPage]):
    name = "get_tool_output"
    description = "Read a page of the whole output of one of your tool calls, when its result showed only a part of it."
    model = OutputPage

    async def run(self, context: CallContext, arguments: OutputPage) -> ToolResult:
        call = self._own(context, arguments.call_id)
        directory = self.state.call(call.call_id)
        facts = await anyio.to_thread.run_sync(
            lambda: page(directory, arguments.stream, offset=arguments.offset, limit=arguments.limit)
        )
        if facts is None:
            raise BadArguments(self.name, [f"call {call.call_id} has no such output"])
        return ToolResult(json.dumps(facts, ensure_ascii=False), facts)
