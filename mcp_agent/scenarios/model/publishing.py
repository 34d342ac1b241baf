"""Publishing a text once, by a tool that may leave its caller without an answer."""

from collections.abc import Mapping, Sequence

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model import results
from mcp_agent.scenarios.model.conversation import CallTool, Item, Reply, Text, ToolCall, ToolOffer, result_of
from mcp_agent.scenarios.model.directives import Publish

WAITED_SECONDS = 60


def publish_once(directive: Publish, tools: Sequence[ToolOffer], after: Sequence[Item]) -> Reply:
    """The next step after those that were taken: publish, repeat blindly, wait for the first, say what it came to."""
    answers = [result_of(call, after) for call in _calls_of(directive.tool, after)]
    match answers:
        case []:
            return _call(directive.tool, tools, {"text": directive.text})
        case [None, *_] | [_, None, *_]:
            return Text(prompts.CANCELLED)
        case [str(first)] if results.is_unknown(first):
            return _call(directive.tool, tools, {"text": directive.text})
        case [str(first)]:
            return Text(f"PUBLISHED {first.strip()}")
        case [_, str(second), *_]:
            return _after_the_repetition(results.stands_in_the_way(second), tools, after)
    return Text(prompts.CANCELLED)


def _after_the_repetition(earlier: str | None, tools: Sequence[ToolOffer], after: Sequence[Item]) -> Reply:
    if earlier is None:
        return Text(prompts.PUBLISHED_TWICE)
    waits = _calls_of(prompts.WAIT_TOOL, after)
    if not waits:
        return _call(prompts.WAIT_TOOL, tools, {"call_id": earlier, "timeout_seconds": WAITED_SECONDS})
    return Text(f"PUBLISHED {results.happened(result_of(waits[-1], after) or '')}")


def _calls_of(tool: str, items: Sequence[Item]) -> list[ToolCall]:
    return [item for item in items if isinstance(item, ToolCall) and item.name.endswith(tool)]


def _call(name: str, tools: Sequence[ToolOffer], arguments: Mapping[str, object]) -> Reply:
    """A provider may put its own prefix before a tool's name."""
    tool = next((tool for tool in tools if tool.name.endswith(name)), None)
    return CallTool(tool, arguments) if tool else Text(prompts.NO_TOOL)
