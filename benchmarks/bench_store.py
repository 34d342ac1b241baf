"""What the store costs one turn and one event, in the event loop.

    python benchmarks/bench_store.py [--check] [--turns 2000] [--directory DIR]

Measured on the disk of the given directory, beside one fsync of a plain file. `--check` exits with 1 when a median is
over its bound.
"""

import argparse
import os
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.bench_ledger import at, measure
from mcp_agent.adapter import TurnEnded, TurnOutcome
from mcp_agent.sessions.store.store import SessionStore
from mcp_agent.sessions.store.upkeep import prune
from mcp_agent.sessions.turns import Turns

BOUNDS = {
    "event, told and not yet written": timedelta(milliseconds=0.05),
    "progress, written": timedelta(milliseconds=0.3),
    "turn, begun and ended": timedelta(milliseconds=2),
    "message, added and claimed": timedelta(milliseconds=3),
    "page of 100 events": timedelta(milliseconds=3),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when the store is too slow")
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--directory", type=Path, help="where to write; default: the system's temporary files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ma-", dir=options.directory) as directory:
        found = measured(Path(directory), options.turns)
    table = Table("what", "median", "p99", "worst", "bound")
    for name, seconds in found.items():
        bound = f"{BOUNDS[name] / timedelta(milliseconds=1):g} ms" if name in BOUNDS else ""
        times = (at(seconds, 0.5), at(seconds, 0.99), seconds[-1])
        table.add_row(name, *(f"{value * 1000:.3f} ms" for value in times), bound)
    Console().print(table)
    slow = any(at(found[name], 0.5) > bound.total_seconds() for name, bound in BOUNDS.items())
    return int(options.check and slow)


def measured(directory: Path, turns: int) -> dict[str, list[float]]:
    """Seconds of every run, shortest first."""
    path = directory / "sessions.sqlite"
    found = {"plain file, one fsync": plain_file(directory, turns)}
    with SessionStore.open(path) as store:
        session = Turns(store, "s-bench")

        def turn(number: int) -> None:
            session.accept(f"prompt {number} " + "x" * 200)
            session.end(TurnEnded(TurnOutcome.COMPLETED, "y" * 1000))

        def message(number: int) -> None:
            store.add_message("s-bench", f"m-{number}", "queued", text="x" * 200)
            store.set_message(f"m-{number}", "claimed", expected="queued")

        found["event, told and not yet written"] = measure(lambda n: store.tell("s-bench", "kind", number=n), turns)
        store.write()
        found["progress, written"] = measure(lambda n: store.save_progress("s-bench", f"{n}"), turns)
        found["turn, begun and ended"] = measure(turn, turns)
        found["message, added and claimed"] = measure(message, turns)
        found["page of 100 events"] = measure(lambda n: store.events(after=n, session_id="s-bench", limit=100), turns)
        found["forgetting all of it, in a thread"] = measure(lambda _: prune(path, store.clock() + 10**8), 1)
    return found


def plain_file(directory: Path, times: int) -> list[float]:
    """The least that anything durable costs on this disk."""
    with (directory / "plain").open("ab", buffering=0) as file:

        def append(_: int) -> None:
            file.write(b"x" * 1000)
            os.fsync(file.fileno())

        return measure(append, times)


if __name__ == "__main__":
    sys.exit(main())
