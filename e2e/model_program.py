"""A scripted model for one test: prints its address, and ends with its standard input.

A line there asks what it was sent so far, and is answered by one line of JSON: `said` asks for what the user had said,
request by request, and anything else for the tool results, each oldest first.
"""

import json
import sys

import anyio

from mcp_agent.scenarios.model.conversation import Role, Said, ToolResult
from mcp_agent.scenarios.model.server import ScriptedModel


async def main() -> None:
    async with ScriptedModel.serve() as model:
        say(model.base_url)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            say(json.dumps(said(model) if line.strip() == "said" else received(model)))


def received(model: ScriptedModel) -> list[str]:
    """Every request holds the whole conversation, so that most results came many times."""
    items = [item for request in model.requests for item in request.conversation.items]
    return list({item.call_id: item.text for item in items if isinstance(item, ToolResult)}.values())


def said(model: ScriptedModel) -> list[list[str]]:
    """What the user had said in each request."""
    return [
        [item.text for item in request.conversation.items if isinstance(item, Said) and item.role is Role.USER]
        for request in model.requests
    ]


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


anyio.run(main)
