"""Tools behind a program: an API where the model calls what it has by a program that it writes into one tool.

Most of what it could call is not listed, and found by the program itself. What the program calls stands in it as JSON,
so that a later request tells what was called. A program that is still running when its turn gets live input is waited
for by a tool of its own.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from mcp_agent.scenarios.model.conversation import CallTool, Item, ToolCall, ToolOffer, ToolResult
from mcp_agent.scenarios.prompts import SHELL_TOOL, WAIT_TOOL

PROGRAM_TOOL = "exec"
NAMESPACE = "<program>"
"""Marks an offer that is called by a program."""

WAIT_FOR_PROGRAM = "wait"

_LISTS_TOOLS = "ALL_TOOLS"
_CALL = re.compile(r"^const call = (\{.*\});$", re.MULTILINE)
_RUNNING = re.compile(r"^Script running with cell ID (\S+)")
_YIELD_MS = 86_400_000
"""A program that takes longer would come back unfinished."""
_PROGRAM = """// @exec: {"yield_time_ms": %d}
const call = %s;
const found = ALL_TOOLS.find(({name}) => name.endsWith(call.tool));
try {
  const result = found ? await tools[found.name](call.arguments) : {content: [{text: `no tool ${call.tool}`}]};
  text(result.content.map(part => part.text).join("\\n"));
} catch (error) {
  text(String(error));
}
"""


def offers(tool: Mapping[str, object]) -> Iterator[ToolOffer]:
    """What a program could call; nothing when this is not the tool that runs one."""
    if tool.get("name") == PROGRAM_TOOL and _LISTS_TOOLS in str(tool.get("description")):
        yield from (ToolOffer(name, NAMESPACE) for name in (SHELL_TOOL, WAIT_TOOL))


def program(reply: CallTool) -> str:
    """The program that makes this call and prints its result."""
    return _PROGRAM % (_YIELD_MS, json.dumps({"tool": reply.tool.name, "arguments": dict(reply.arguments)}))


def call_in(source: str, call_id: str) -> ToolCall | None:
    """The call that a program of ours made; None for any other program."""
    found = _CALL.search(source)
    if found is None:
        return None
    call = json.loads(found[1])
    return ToolCall(call_id, call["tool"], call["arguments"])


def running(result: str) -> str | None:
    """The id of the program that this result says is still running."""
    found = _RUNNING.match(result)
    return found[1] if found else None


def wait_for(cell_id: str, tools: Sequence[ToolOffer]) -> CallTool | None:
    """The call that waits for a running program; None where there is no such tool."""
    tool = next((tool for tool in tools if tool.name == WAIT_FOR_PROGRAM), None)
    return CallTool(tool, {"cell_id": cell_id, "yield_time_ms": _YIELD_MS}) if tool else None


def joined(items: Sequence[Item]) -> Iterator[Item]:
    """The items with each program's last word as the one result of its call, whatever was waited for in between."""
    origins: dict[str, str] = {}
    cells: dict[str, str] = {}
    last: dict[str, ToolResult] = {}
    for item in items:
        if isinstance(item, ToolCall) and item.name == WAIT_FOR_PROGRAM:
            origins[item.call_id] = cells.get(str(item.arguments.get("cell_id")), item.call_id)
        if isinstance(item, ToolResult):
            origin = origins.get(item.call_id, item.call_id)
            last[origin] = ToolResult(origin, item.text)
            if (cell := running(item.text)) is not None:
                cells[cell] = origin
    for item in items:
        if isinstance(item, ToolResult):
            if item.call_id not in origins:
                yield last[item.call_id]
        elif not (isinstance(item, ToolCall) and item.call_id in origins):
            yield item
