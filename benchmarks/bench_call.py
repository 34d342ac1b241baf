"""What one tool call costs through bridge, socket and server, beside a server on the official SDK.

    python benchmarks/bench_call.py [--check] [--runs 1000]

The same raw JSON-RPC client calls a tool that does nothing, of each in turns in the same run: our server as it is, our
server with nothing written down, and stdio servers on the SDK, whose tools run in the process that is asked. `--check`
exits with 1 when a call without the ledger costs more than one on the SDK, or one with it more than its bounds.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.place import SERVER, Stdio, percentile, place, seconds_of, stdio

MEDIAN_BOUND = timedelta(milliseconds=1.6)
WORST_BOUND = timedelta(milliseconds=5)
"""For 99 calls of 100."""
RATIO_BOUND = 1.0
WARM_UP = 50

OURS, UNWRITTEN, SDK, BARE_SDK = "ours", "ours, no ledger", "official SDK", "official SDK, low level"
NO_LEDGER_SERVER = (sys.executable, "-m", "benchmarks.no_ledger")
SDK_SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("peer")

@server.tool()
async def nothing(text: str) -> str:
    return text

server.run()
"""
BARE_SDK_SERVER = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, TextContent

async def call(context, params):
    return CallToolResult(content=[TextContent(type="text", text=params.arguments["text"])])

async def main():
    server = Server("peer", on_call_tool=call)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())

anyio.run(main)
"""

Seconds = Mapping[str, list[float]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a call costs too much")
    parser.add_argument("--runs", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ma-", dir="/tmp") as directory, ExitStack() as stack:
        seconds = measure(servers(Path(directory), stack), options.runs)
    Console().print(table(seconds))
    return int(options.check and bool(too_slow(seconds)))


def servers(directory: Path, stack: ExitStack) -> dict[str, Stdio]:
    """The four, initialized, each by the words that the table has for it."""
    started: dict[str, Stdio] = {}
    for number, (name, argv) in enumerate(((OURS, SERVER), (UNWRITTEN, NO_LEDGER_SERVER))):
        below = directory / str(number)
        below.mkdir()
        started[name] = stack.enter_context(stdio(stack.enter_context(place(below, argv)).bridge))
    for number, (name, program) in enumerate(((SDK, SDK_SERVER), (BARE_SDK, BARE_SDK_SERVER))):
        path = directory / f"peer{number}.py"
        path.write_text(program)
        started[name] = stack.enter_context(stdio([sys.executable, "-I", str(path)]))
    return started


def measure(started: Mapping[str, Stdio], runs: int) -> Seconds:
    """Seconds of every call, shortest first."""
    seconds: dict[str, list[float]] = {name: [] for name in started}
    for number in range(runs + WARM_UP):
        for name, server in started.items():
            text = f"text {number}"
            seconds[name].append(seconds_of(partial(expect, server, text)))
    return {name: sorted(each[WARM_UP:]) for name, each in seconds.items()}


def expect(server: Stdio, text: str) -> None:
    if server.call("nothing", text=text) != text:
        raise SystemExit("the tool did not answer as it should")


def too_slow(seconds: Seconds) -> list[str]:
    """One line for each bound that does not hold."""
    ratio = percentile(seconds[UNWRITTEN], 0.5) / percentile(seconds[SDK], 0.5)
    median, worst = (percentile(seconds[OURS], share) for share in (0.5, 0.99))
    found = []
    if ratio > RATIO_BOUND:
        found.append(f"without the ledger a call costs {ratio:.2f} of one on the SDK")
    if median > MEDIAN_BOUND.total_seconds():
        found.append(f"the median is {median * 1000:.2f} ms")
    if worst > WORST_BOUND.total_seconds():
        found.append(f"the 99th percentile is {worst * 1000:.2f} ms")
    return found


def table(seconds: Seconds) -> Table:
    table = Table("server", "best", "median", "p99", "ratio", title="one tool call")
    base = percentile(seconds[SDK], 0.5)
    for name, each in seconds.items():
        values = (each[0], percentile(each, 0.5), percentile(each, 0.99))
        table.add_row(name, *(f"{value * 1000:.2f} ms" for value in values), f"{values[1] / base:.2f}×")
    bounds = f"{MEDIAN_BOUND / timedelta(milliseconds=1):g} ms and {WORST_BOUND / timedelta(milliseconds=1):g} ms"
    table.caption = f"{len(each)} calls each, in turns; bounds: 1.0× without the ledger, {bounds} with it. " + (
        "; ".join(too_slow(seconds)) or "All hold."
    )
    return table


if __name__ == "__main__":
    sys.exit(main())
