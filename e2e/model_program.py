"""A scripted model for one test: prints its address, and ends with its standard input.

Each line there is a command and is answered by one line of JSON: `results` and `said` ask what it was sent so far, as
tool results and as the user's words, request by request and oldest first; `refuse`, `ignore` and `accept` tell it how
to answer from now on; `down` closes its port, and `up` opens it again.
"""

import json
import sys
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import anyio

from mcp_agent.scenarios.model.conversation import Role, Said, Text, ToolResult
from mcp_agent.scenarios.model.failures import Refusal
from mcp_agent.scenarios.model.server import ScriptedModel


class Program:
    """A model, which may be down for a while, and what is told to it."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()

    async def run(self) -> None:
        async with self._open:
            self.model = await self._open.enter_async_context(ScriptedModel.serve())
            say(self.model.base_url)
            while line := await anyio.to_thread.run_sync(sys.stdin.readline):
                say(json.dumps(await self._answer(line.strip())))

    async def _answer(self, line: str) -> object:
        command, _, argument = line.partition(" ")
        match command:
            case "results":
                return received(self.model)
            case "said":
                return said(self.model)
            case "refuse":
                self.model.refuse_with(Refusal(**json.loads(argument)))
            case "ignore":
                self.model.journal.mind = lambda _: Text("I would rather talk about the weather.")
            case "accept":
                self.model.refuse_with(None)
            case "down":
                await self._open.aclose()
            case "up":
                earlier = self.model
                again = ScriptedModel.serve(port=urlsplit(earlier.base_url).port or 0, journal=earlier.journal)
                self.model = await self._open.enter_async_context(again)
        return self.model.journal.refusals


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


anyio.run(Program().run)
