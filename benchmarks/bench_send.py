"""How soon a sent prompt is proved to have arrived.

    python benchmarks/bench_send.py [--check] [--runs 200] [--provider ID ...]

One session of each provider is sent one prompt after the other, each once the turn before it is over; the time is from
the request to its answer `delivered`. The model is a scripted one on loopback. `--check` exits with 1 when a median is
over its bound, or a send was not delivered.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.fleet import Session, fleet, scripted_model
from benchmarks.place import percentile

BOUND = timedelta(seconds=0.8)
"""For the median with a real CLI."""
SCRIPTED_BOUND = timedelta(seconds=0.25)
SCRIPTED = "scripted"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a median is over its bound")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--provider", action="append", help="default: the scripted agent and Claude Code")
    options = parser.parse_args()
    table = Table("provider", "best", "median", "p99", "worst", "bound", title="send → proof")
    over = False
    for provider in options.provider or (SCRIPTED, "claude-code"):
        seconds = sorted(measure(provider, options.runs))
        bound = SCRIPTED_BOUND if provider == SCRIPTED else BOUND
        over |= percentile(seconds, 0.5) > bound.total_seconds()
        values = (seconds[0], percentile(seconds, 0.5), percentile(seconds, 0.99), seconds[-1], bound.total_seconds())
        table.add_row(provider, *(f"{value * 1000:.0f} ms" for value in values))
    table.caption = f"{options.runs} prompts each"
    Console().print(table)
    return int(options.check and over)


def measure(provider: str, runs: int) -> Sequence[float]:
    with (
        tempfile.TemporaryDirectory(prefix="ma-", dir="/tmp") as directory,
        scripted_model() as model,
        fleet(Path(directory), model) as place,
    ):
        session = place.start(provider)
        return [delivery_seconds(session, f"prompt number {number}") for number in range(runs)]


def delivery_seconds(session: Session, prompt: str) -> float:
    began = time.perf_counter()
    turn = session.send(prompt)
    took_seconds = time.perf_counter() - began
    session.wait_for(turn)
    return took_seconds


if __name__ == "__main__":
    sys.exit(main())
