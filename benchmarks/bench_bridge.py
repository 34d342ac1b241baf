"""How long a provider waits for the bridge: spawn → `initialize` reply, beside a minimal server on the official SDK.

    python benchmarks/bench_bridge.py [--check] [--runs 15]

Both are started in turns in the same run. `--check` exits with 1 when the bridge's median is over its bound.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

BRIDGE = Path(__file__).parents[1] / "mcp_agent/bridge/mcpbridge.py"
BOUND = timedelta(milliseconds=100)
SDK_SERVER = "from mcp.server.mcpserver import MCPServer\nMCPServer('peer').run()\n"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when the bridge is too slow")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ma-") as directory:
        ours, theirs = measure(commands(Path(directory)), options.runs)
    Console().print(table(ours, theirs))
    return int(options.check and median(ours) > BOUND.total_seconds())


def commands(directory: Path) -> tuple[list[str], list[str]]:
    """The two servers as argv; neither needs anything that is not there."""
    session_file, peer = directory / "bridge.json", directory / "peer.py"
    session = {
        "session": "s-bench",
        "token": "none",
        "socket": str(directory / "server.sock"),
        "start_server": ["/bin/false"],
        "start_environment": {},
        "limits": {"ordinary_seconds": 300.0, "long_running_seconds": 5395.0},
        "progress_seconds": None,
    }
    session_file.write_text(json.dumps(session))
    peer.write_text(SDK_SERVER)
    return [sys.executable, "-I", str(BRIDGE), str(session_file)], [sys.executable, "-I", str(peer)]


def measure(servers: tuple[list[str], list[str]], runs: int) -> tuple[list[float], list[float]]:
    """Seconds of every run, after one of each that fills the caches."""
    for command in servers:
        initialize_seconds(command)
    pairs = [(initialize_seconds(servers[0]), initialize_seconds(servers[1])) for _ in range(runs)]
    return [ours for ours, _ in pairs], [theirs for _, theirs in pairs]


def initialize_seconds(command: list[str]) -> float:
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        elapsed_seconds = time.perf_counter() - began
        server.stdin.close()
    if "result" not in answer:
        raise SystemExit(f"{command[-1]} did not initialize: {answer}")
    return elapsed_seconds


def table(ours: list[float], theirs: list[float]) -> Table:
    table = Table("server", "median", "best", "worst", "ratio", title="spawn → initialize reply")
    for name, seconds in (("mcpbridge", ours), ("official SDK", theirs)):
        ratio = f"{median(seconds) / median(ours):.1f}×"
        table.add_row(
            name, *(f"{value * 1000:.0f} ms" for value in (median(seconds), min(seconds), max(seconds))), ratio
        )
    table.caption = f"{len(ours)} runs each, in turns; bound {BOUND / timedelta(milliseconds=1):.0f} ms"
    return table


if __name__ == "__main__":
    sys.exit(main())
