"""A scripted model for one test: prints its address, and ends with its standard input.

For every line there it prints the tool results that it was sent so far, oldest first, as one line of JSON.
"""

import json
import sys

import anyio

from mcp_agent.scenarios.model.conversation import ToolResult
from mcp_agent.scenarios.model.server import ScriptedModel


async def main() -> None:
    async with ScriptedModel.serve() as model:
        say(model.base_url)
        while await anyio.to_thread.run_sync(sys.stdin.readline):
            say(json.dumps(received(model)))


def received(model: ScriptedModel) -> list[str]:
    """Every request holds the whole conversation, so that most results came many times."""
    items = [item for request in model.requests for item in request.conversation.items]
    return list({item.call_id: item.text for item in items if isinstance(item, ToolResult)}.values())


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


anyio.run(main)
