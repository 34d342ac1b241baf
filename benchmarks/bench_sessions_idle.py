"""What sessions cost while nobody asks anything of them.

    python benchmarks/bench_sessions_idle.py [--check] [--seconds 30] [--many 100]

Processor time of everything of ours: the server, its tmux server, and the control client between them. The CLIs' own
time is theirs. A spinner is written into a session's terminal from outside, ten times a second. `--check` exits with 1
when a bound does not hold.
"""

import argparse
import itertools
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TextIO, cast

import psutil
from rich.console import Console

from benchmarks.findings import Finding, table
from benchmarks.fleet import Fleet, Session, fleet

FEW, SPINNING = 20, 10
AT_A_TIME = 4
SETTLES_WITHIN = timedelta(seconds=10)
FRAME_EVERY = timedelta(milliseconds=100)
SCRIPTED = "scripted"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bound does not hold")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--many", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ma-", dir="/tmp") as directory, fleet(Path(directory)) as place:
        findings = measure(place, many=options.many, seconds=options.seconds)
    Console().print(table(findings, title="idle sessions"))
    return int(options.check and not all(finding.holds for finding in findings))


def measure(place: Fleet, *, many: int, seconds: float) -> Sequence[Finding]:
    sessions = started(place, FEW)
    processes = place.tmux_starts()
    findings = [share_of_a_core(place, f"{FEW} idle sessions", seconds, bound=0.5)]
    findings.append(Finding("tmux processes meanwhile", place.tmux_starts() - processes, 0, unit=""))
    with spinners(sessions[:SPINNING]):
        findings.append(share_of_a_core(place, f"{SPINNING} of {FEW} with a spinner", seconds, bound=3))
    started(place, many - FEW)
    findings.append(share_of_a_core(place, f"{many} idle sessions", seconds, bound=1))
    return findings


def started(place: Fleet, count: int) -> Sequence[Session]:
    with ThreadPoolExecutor(AT_A_TIME) as threads:
        return list(threads.map(lambda _: place.start(SCRIPTED), range(count)))


def share_of_a_core(place: Fleet, what: str, seconds: float, *, bound: float) -> Finding:
    time.sleep(SETTLES_WITHIN.total_seconds())
    processes = ours(place)
    before, began = [used_seconds(process) for process in processes], time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - began
    shares = [100 * (used_seconds(process) - used) / took for process, used in zip(processes, before, strict=True)]
    note = ", ".join(f"{process.name()} {share:.2f}" for process, share in zip(processes, shares, strict=True))
    megabytes = sum(process.memory_info().rss for process in processes) / 1024 / 1024
    return Finding(what, sum(shares), bound, unit="% of a core", note=f"{note}; {megabytes:.0f} MiB")


def ours(place: Fleet) -> Sequence[psutil.Process]:
    """The server, what it started, and the tmux server."""
    server = psutil.Process(place.server.pid)
    socket = str(place.state.tmux_socket)
    tmux = [
        process for process in psutil.process_iter() if process.name().startswith("tmux") and knows(process, socket)
    ]
    return list({process.pid: process for process in (server, *server.children(recursive=True), *tmux)}.values())


def knows(process: psutil.Process, path: str) -> bool:
    try:
        return path in process.cmdline()
    except psutil.Error:
        return False


def used_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@contextmanager
def spinners(sessions: Sequence[Session]) -> Generator[None]:
    """Something turns in the first row of each session's terminal, each in its own time, while the context is open."""
    over = threading.Event()

    def turn(terminal: TextIO, later_seconds: float) -> None:
        over.wait(later_seconds)
        for frame in itertools.cycle("✢✳✶✻✽"):
            terminal.write(f"\x1b7\x1b[1;1H{frame} Thinking… ({int(time.monotonic())}s)\x1b8")
            terminal.flush()
            if over.wait(FRAME_EVERY.total_seconds()):
                return

    with ExitStack() as stack, ThreadPoolExecutor(len(sessions)) as threads:
        for number, session in enumerate(sessions):
            terminal = stack.enter_context(Path(terminal_of(session)).open("w", encoding="utf-8"))
            threads.submit(turn, terminal, number * FRAME_EVERY.total_seconds() / len(sessions))
        try:
            yield
        finally:
            over.set()
            threads.shutdown()


def terminal_of(session: Session) -> str:
    pane = cast("dict[str, int]", session.show()["pane"])
    return str(psutil.Process(pane["pid"]).terminal())


if __name__ == "__main__":
    sys.exit(main())
