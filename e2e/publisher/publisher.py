"""A user's own tool that does its work at once, and is then silent for longer than anybody waits."""

from datetime import timedelta

import anyio

from mcp_agent.tools.custom import CallContext, tool


@tool(wait=timedelta(seconds=2))
async def publish(text: str, context: CallContext) -> str:
    """Publish a text, and wait until the press confirms it."""
    with (context.working_directory / "published.txt").open("a", encoding="utf-8") as published:
        published.write(f"{text}\n")
    press = context.working_directory / "confirmation"
    confirmed = await anyio.run_process(["head", "-n", "1", str(press)])
    return f"{text}: {confirmed.stdout.decode().strip()}"
