"""A scripted model for one test: prints its address, and ends with its standard input."""

import sys

import anyio

from mcp_agent.scenarios.model.server import ScriptedModel


async def main() -> None:
    async with ScriptedModel.serve() as model:
        sys.stdout.write(f"{model.base_url}\n")
        sys.stdout.flush()
        await anyio.to_thread.run_sync(sys.stdin.buffer.read)


anyio.run(main)
