"""What executions cost while nothing of them moves.

    python benchmarks/bench_executions_idle.py [--check] [--seconds 30]

Processor time of the server alone: before the first execution, after one has ended, and while a child waits for its
coding agent, which is the scripted one and says nothing. `--check` exits with 1 when a bound does not hold.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import psutil
from rich.console import Console

from benchmarks.bench_sessions_idle import SCRIPTED, used_seconds
from benchmarks.findings import Finding, table
from benchmarks.fleet import BINARIES, TURN_ENDS_WITHIN, Fleet, fleet, until

BOUND = 2.0
SETTLES_WITHIN = timedelta(seconds=15)
"""Longer than a closed engine goes without hearing of an end."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bound does not hold")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ma-", dir="/tmp") as directory, fleet(Path(directory)) as place:
        findings = measure(place, seconds=options.seconds)
    Console().print(table(findings, title="a server whose executions do not move"))
    return int(options.check and not all(finding.holds for finding in findings))


def measure(place: Fleet, *, seconds: float) -> Sequence[Finding]:
    place.start(SCRIPTED)
    findings = [share_of_a_core(place, "before the first execution, one idle session", seconds)]
    wait_for(place, start(place, "hello"))
    findings.append(share_of_a_core(place, "after an execution", seconds))
    called = time.monotonic()
    waiting = start(place, "wait", thinks_until=str(place.root / "never"))
    until(lambda: state_of(place, waiting) == "running")
    note = f"it began {time.monotonic() - called:.2f} s after the call"
    findings.append(share_of_a_core(place, "a waiting child", seconds, note=note))
    if state_of(place, waiting) != "running":
        raise SystemExit("the child did not wait")
    return findings


def start(place: Fleet, instructions: str, **quirks: object) -> str:
    """The id of an execution, of which nothing has begun."""
    environment = {"PATH": os.pathsep.join(map(str, BINARIES)), "HOME": str(place.root), "LANG": "C.UTF-8"}
    environment["SCRIPTED_AGENT_QUIRKS"] = json.dumps(quirks)
    asked = {"provider": SCRIPTED, "working_directory": str(place.root), "trust": True, "environment": environment}
    return str(place.client.post("/executions", {**asked, "instructions": instructions})["execution_id"])


def wait_for(place: Fleet, execution: str) -> None:
    found = place.client.wait(f"/executions/{execution}?wait_seconds={TURN_ENDS_WITHIN.total_seconds()}")
    if found["state"] != "succeeded":
        raise SystemExit(f"an execution is {found['state']}")


def state_of(place: Fleet, execution: str) -> str:
    return str(place.client.get(f"/executions/{execution}")["state"])


def share_of_a_core(place: Fleet, what: str, seconds: float, *, note: str = "") -> Finding:
    time.sleep(SETTLES_WITHIN.total_seconds())
    server = psutil.Process(place.server.pid)
    before, began = used_seconds(server), time.monotonic()
    time.sleep(seconds)
    share = 100 * (used_seconds(server) - before) / (time.monotonic() - began)
    return Finding(what, share, BOUND, unit="% of a core", note=note)


if __name__ == "__main__":
    sys.exit(main())
