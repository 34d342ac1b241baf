"""Finding out what became of a call whose outcome is unknown: wait for it, again and again, then read its output."""

import json
from collections.abc import Sequence

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model import results
from mcp_agent.scenarios.model.conversation import CallTool, Item, Reply, Text, ToolCall, ToolOffer, result_of

WAITED_SECONDS = 600
MOST_WAITS = 200


def find_out(unknown: str, tools: Sequence[ToolOffer], after: Sequence[Item], *, prefix: str) -> Reply:
    """The next step after those that were taken; at the end the answer, which is `prefix` and what was printed."""
    call_id = results.call_id_of(unknown)
    if call_id is None:
        return Text(prompts.UNKNOWN)
    waits = _calls_of(prompts.WAIT_TOOL, after)
    told = result_of(waits[-1], after) if waits else ""
    if told is None:
        return Text(prompts.CANCELLED)
    if results.happened(told) == "unknown" and len(waits) < MOST_WAITS:
        return _call(prompts.WAIT_TOOL, tools, {"call_id": call_id, "timeout_seconds": WAITED_SECONDS})
    return _read_output(call_id, tools, after, prefix=prefix)


def _read_output(call_id: str, tools: Sequence[ToolOffer], after: Sequence[Item], *, prefix: str) -> Reply:
    pages = _calls_of(prompts.OUTPUT_TOOL, after)
    if not pages:
        return _call(prompts.OUTPUT_TOOL, tools, {"call_id": call_id, "stream": "stdout"})
    page = result_of(pages[-1], after)
    return Text(prompts.CANCELLED) if page is None else Text(prefix + _printed(page))


def _printed(page: str) -> str:
    try:
        return str(json.loads(page)["text"]).strip()
    except (ValueError, KeyError, TypeError):
        return page.strip()


def _calls_of(tool: str, items: Sequence[Item]) -> list[ToolCall]:
    return [item for item in items if isinstance(item, ToolCall) and item.name.endswith(tool)]


def _call(name: str, tools: Sequence[ToolOffer], arguments: dict[str, object]) -> Reply:
    tool = next((tool for tool in tools if tool.name.endswith(name)), None)
    return CallTool(tool, arguments) if tool else Text(prompts.NO_TOOL)
