"""How soon a closed HTTP request cancels its handler.

    python benchmarks/bench_cancel.py [--check] [--runs 100]

A raw client asks the server's socket for a tool that says nothing, and closes the connection. The tool notes when it
was cancelled, on the clock that all processes of a machine share. `--check` exits with 1 when the median is over its
bound.
"""

import argparse
import json
import socket
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.place import Place, percentile, place
from mcp_agent.bridge.unix_http import encode_request

BOUND = timedelta(milliseconds=50)
GIVE_UP = timedelta(seconds=10)
LOOK_AGAIN = timedelta(milliseconds=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a cancellation takes too long")
    parser.add_argument("--runs", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ma-", dir="/tmp") as directory, place(Path(directory)) as started:
        notes = Path(directory) / "notes"
        notes.mkdir()
        seconds = sorted(cancel_seconds(started, notes / str(number)) for number in range(options.runs))
    table = Table("median", "p99", "worst", title="connection closed → handler cancelled")
    values = (percentile(seconds, 0.5), percentile(seconds, 0.99), seconds[-1])
    table.add_row(*(f"{value * 1000:.2f} ms" for value in values))
    table.caption = f"{options.runs} calls; bound {BOUND / timedelta(milliseconds=1):g} ms"
    Console().print(table)
    return int(options.check and values[0] > BOUND.total_seconds())


def cancel_seconds(started: Place, note: Path) -> float:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(started.state.server_socket))
        connection.sendall(request(started, note))
        wait_for(note.with_suffix(".began"))
        closed_at = time.monotonic_ns()
    wait_for(note)
    return (int(note.read_text()) - closed_at) / 1e9


def request(started: Place, note: Path) -> bytes:
    """As the bridge writes it."""
    headers = {
        "Authorization": f"Bearer {started.token}",
        "X-Call-Id": f"call_{note.name}",
        "Content-Type": "application/json",
    }
    body = json.dumps({"note": str(note)}).encode()
    return encode_request("POST", f"/s/{started.session}/tools/custom/silence", headers=headers, body=body)


def wait_for(path: Path) -> None:
    give_up = time.monotonic() + GIVE_UP.total_seconds()
    while not path.exists():
        if time.monotonic() > give_up:
            raise SystemExit(f"{path.name} never came")
        time.sleep(LOOK_AGAIN.total_seconds())


if __name__ == "__main__":
    sys.exit(main())
