"""Having another agent do a task, and going on without its result."""

import re
from collections.abc import Sequence

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model.conversation import CallTool, Item, Reply, Text, ToolCall, ToolOffer, result_of
from mcp_agent.scenarios.model.directives import Delegate

_EXECUTION = re.compile(r"execution_id\W+(x-\w+)")
_ECHOED = 200


def delegate_once(directive: Delegate, tools: Sequence[ToolOffer], after: Sequence[Item]) -> Reply:
    """The call, and then the id that its result tells."""
    call = next((item for item in after if isinstance(item, ToolCall) and item.name.endswith(prompts.AGENT_TOOL)), None)
    if call is None:
        tool = next((tool for tool in tools if tool.name.endswith(prompts.AGENT_TOOL)), None)
        arguments = {"agent": directive.agent, "instructions": directive.task}
        return CallTool(tool, arguments) if tool else Text(prompts.NO_TOOL)
    result = result_of(call, after)
    if result is None:
        return Text(prompts.CANCELLED)
    found = _EXECUTION.search(result)
    return Text(f"DELEGATED {found[1]}" if found else f"FAILED: {result.strip()[:_ECHOED]}")
