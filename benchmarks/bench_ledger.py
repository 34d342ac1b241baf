"""What the ledger costs one tool call: intent, end of the wait and outcome, written and safe.

    python benchmarks/bench_ledger.py [--check] [--calls 2000] [--directory DIR]

Measured on the disk of the given directory, beside the same facts in one plain file with an fsync per call. `--check`
exits with 1 when the ledger's median or its 99th percentile is over its bound.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table

from mcp_agent.calls.digest import digest
from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_codec import encode
from mcp_agent.calls.ledger_events import Event, Happened, Intent, Outcome, WaitEnded, WhyEnded
from mcp_agent.processes import ProcessIdentity

MEDIAN_BOUND = timedelta(milliseconds=0.5)
WORST_BOUND = timedelta(milliseconds=3)
"""For 99 calls of 100."""

AFTERWARDS = (WaitEnded(WhyEnded.RESULT, 0.5), Outcome(Happened.SUCCEEDED, "exit status 0", 512))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when the ledger is too slow")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument(
        "--directory", type=Path, help="where to write; the system's place for temporary files by default"
    )
    options = parser.parse_args()
    table = Table("what", "median", "p99", "worst", title="intent + wait ended + outcome")
    with tempfile.TemporaryDirectory(prefix="ma-", dir=options.directory) as directory:
        plain = plain_file(Path(directory), options.calls)
        with Ledger.open(Path(directory) / "calls.sqlite") as ledger:
            written = measure(lambda number: write(ledger, number), options.calls)
            gate = measure(lambda number: look(ledger, number), options.calls)
    for name, seconds in (("plain file, one fsync", plain), ("ledger", written), ("ledger: gate's look-up", gate)):
        table.add_row(name, *(f"{value * 1000:.3f} ms" for value in (at(seconds, 0.5), at(seconds, 0.99), seconds[-1])))
    table.caption = f"{options.calls} calls; bounds: median 0.5 ms, p99 3 ms"
    Console().print(table)
    slow = at(written, 0.5) > MEDIAN_BOUND.total_seconds() or at(written, 0.99) > WORST_BOUND.total_seconds()
    return int(options.check and slow)


def measure(work: Callable[[int], object], times: int) -> list[float]:
    """Seconds of every run, shortest first."""
    seconds = []
    for number in range(times):
        began = time.perf_counter()
        work(number)
        seconds.append(time.perf_counter() - began)
    return sorted(seconds)


def at(seconds: list[float], share: float) -> float:
    return seconds[min(int(len(seconds) * share), len(seconds) - 1)]


def write(ledger: Ledger, number: int) -> None:
    ledger.intent(f"call_{number}", intent(number))
    ledger.append(f"call_{number}", *AFTERWARDS)


def look(ledger: Ledger, number: int) -> None:
    ledger.similar("s-bench", "execute_shell_command", digest=intent(number).digest)


def plain_file(directory: Path, calls: int) -> list[float]:
    """The least that any write-ahead record costs on this disk."""
    with (directory / "plain").open("ab", buffering=0) as file:

        def append(number: int) -> None:
            facts: tuple[Event, ...] = (intent(number), *AFTERWARDS)
            file.write("\n".join(map(encode, facts)).encode())
            os.fsync(file.fileno())

        return measure(append, calls)


def intent(number: int) -> Intent:
    arguments = {"command": f"make test TARGET={number % 100} && echo finished", "timeout_seconds": 600}
    return Intent(
        session_id="s-bench",
        tool="execute_shell_command",
        category="virtual",
        arguments=arguments,
        digest=digest("execute_shell_command", arguments),
        turn_id="turn-1",
        wait_limit_seconds=900.0,
        work_limit_seconds=5400.0,
        owner=ProcessIdentity(os.getpid(), 1, "boot"),
        read_only=False,
        idempotent=False,
    )


if __name__ == "__main__":
    sys.exit(main())
