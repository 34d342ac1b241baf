"""Tools behind a program: an API where the model calls what it has by a program that it writes into one tool.

Most of what it could call is not listed, and found by the program itself. What the program calls stands in it as JSON,
so that a later request tells what was called.
"""

import json
import re
from collections.abc import Iterator, Mapping

from mcp_agent.scenarios.model.conversation import CallTool, ToolCall, ToolOffer
from mcp_agent.scenarios.prompts import SHELL_TOOL, WAIT_TOOL

PROGRAM_TOOL = "exec"
NAMESPACE = "<program>"
"""Marks an offer that is called by a program."""

_LISTS_TOOLS = "ALL_TOOLS"
_CALL = re.compile(r"^const call = (\{.*\});$", re.MULTILINE)
_PROGRAM = """// @exec: {"yield_time_ms": 86400000}
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
    return _PROGRAM % json.dumps({"tool": reply.tool.name, "arguments": dict(reply.arguments)})


def call_in(source: str, call_id: str) -> ToolCall | None:
    """The call that a program of ours made; None for any other program."""
    found = _CALL.search(source)
    if found is None:
        return None
    call = json.loads(found[1])
    return ToolCall(call_id, call["tool"], call["arguments"])
