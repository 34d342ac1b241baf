"""How fast sessions start, end their turns and are found again, beside what the CLI itself takes.

    python benchmarks/bench_sessions.py [--check] [--runs 20]

The scripted agent in real tmux, on a real server. What the agent itself takes is measured in the same run: the same
program with the same configuration in a terminal of its own, one and then as many as are started at once. `--check`
exits with 1 when a bound does not hold.
"""

import argparse
import os
import pty
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import psutil
from rich.console import Console

from adapters.scripted_agent import wording
from benchmarks.findings import Finding, table
from benchmarks.fleet import KEY, Fleet, Session, at_once, fleet, until
from benchmarks.place import percentile, seconds_of
from mcp_agent.server.client import Client

SCRIPTED = "scripted"
AT_ONCE = 20
ASK_EVERY_SECONDS = 0.02


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bound does not hold")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory(prefix="ma-", dir="/tmp") as directory, fleet(Path(directory)) as place:
        for measure in (one_after_the_other, turns, all_at_once, after_a_crash):
            findings += measure(place, options.runs)
    Console().print(table(findings, title="sessions"))
    return int(options.check and not all(finding.holds for finding in findings))


def one_after_the_other(place: Fleet, runs: int) -> Sequence[Finding]:
    """Starts, each beside the same CLI without us, while one session keeps the terminal open."""
    with kept(place) as first:
        own = sorted(own_ready_seconds(first) for _ in range(runs))
        processes = place.tmux_starts()
        seconds = []
        for _ in range(runs):
            began = time.perf_counter()
            session = place.start(SCRIPTED)
            seconds.append(time.perf_counter() - began)
            session.stop()
        per_start = (place.tmux_starts() - processes) / runs
    whole, alone = statistics.median(seconds), statistics.median(own)
    note = f"{whole:.3f} s in all, {alone:.3f} s of the CLI"
    return [
        Finding("create → ready, beyond the CLI itself", whole - alone, 0.5, note=note),
        Finding("tmux processes per create", per_start, 3, unit=""),
    ]


def turns(place: Fleet, runs: int) -> Sequence[Finding]:
    with kept(place) as session:
        session.wait_for(session.send("warm up"))
        processes = place.tmux_starts()
        transcript, sent, seen = place.transcript(session), [], []
        for number in range(runs):
            began = time.perf_counter()
            turn = session.send(f"prompt number {number}")
            sent.append(time.perf_counter() - began)
            session.wait_for(turn)
            seen.append(time.time() - transcript.stat().st_mtime)
        per_send = (place.tmux_starts() - processes) / runs
    return [
        Finding("send → proof", statistics.median(sent), 0.25, note=f"p99 {percentile(sorted(sent), 0.99):.3f} s"),
        Finding("turn end → done visible", statistics.median(seen), 0.2, note=f"worst {max(seen):.3f} s"),
        Finding("tmux processes per send", per_send, 0, unit=""),
    ]


def all_at_once(place: Fleet, _: int) -> Sequence[Finding]:
    with kept(place) as first:
        alone = sorted(at_once(AT_ONCE, lambda: own_ready_seconds(first)))
        sessions: list[Session] = []
        with asked_all_the_time(place) as answers:
            seconds = sorted(at_once(AT_ONCE, lambda: seconds_of(lambda: sessions.append(place.start(SCRIPTED)))))
        at_once(AT_ONCE, lambda: sessions.pop().stop())
    note = f"worst {seconds[-1]:.2f} s in all, {alone[-1]:.2f} s of the CLI"
    return [
        Finding(f"{AT_ONCE} at once, worst, beyond the CLI itself", seconds[-1] - alone[-1], 1, note=note),
        Finding("/server answers meanwhile, worst", max(answers), 0.05, note=f"of {len(answers)}"),
    ]


def after_a_crash(place: Fleet, _: int) -> Sequence[Finding]:
    """From the start of the next server to right states: ready ones, some that ask, some whose model is silent."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = {"base_url": f"http://127.0.0.1:{silent.getsockname()[1]}", "api_key": KEY}
        asking = [place.start(SCRIPTED) for _ in range(3)]
        busy = [place.start(SCRIPTED, endpoint=endpoint) for _ in range(3)]
        sessions = [*asking, *busy, *(place.start(SCRIPTED) for _ in range(4))]
        for session in asking:
            session.send("run exactly this command: `sleep 600`")
        for session in busy:
            session.send("say nothing")
        until(lambda: list(states(place.client).values()) == ["waiting"] * 3 + ["busy"] * 3 + ["ready"] * 4)
        before = states(place.client)
        place.crash()
        began = time.perf_counter()
        place.start_again()
        listening_seconds = time.perf_counter() - began
        until(lambda: states(place.client) == before)
        seconds = time.perf_counter() - began
        for session in sessions:
            place.at(session.id).stop()
    return [Finding("server restarted → right states", seconds, 2, note=f"listening after {listening_seconds:.2f} s")]


def states(client: Client) -> dict[str, object]:
    listed = cast("list[dict[str, object]]", client.get("/sessions")["sessions"])
    return {str(session["id"]): session["state"] for session in listed if session["state"] != "stopped"}


@contextmanager
def kept(place: Fleet) -> Generator[Session]:
    session = place.start(SCRIPTED)
    yield session
    session.stop()


@contextmanager
def asked_all_the_time(place: Fleet) -> Generator[list[float]]:
    """How long each answer to `GET /server` took while the context is open."""
    over, seconds = threading.Event(), [0.0]

    def ask() -> None:
        while not over.wait(ASK_EVERY_SECONDS):
            seconds.append(seconds_of(lambda: place.client.get("/server")))

    asking = threading.Thread(target=ask)
    asking.start()
    yield seconds
    over.set()
    asking.join()


def own_ready_seconds(session: Session) -> float:
    """How long the program of this session takes to its prompt when nobody but a terminal is around it."""
    pane = cast("dict[str, int]", session.show()["pane"])
    running = psutil.Process(pane["pid"])
    argv, environment = running.cmdline(), running.environ()
    master, slave = pty.openpty()
    os.set_blocking(master, False)
    began = time.perf_counter()
    process = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True)
    os.close(slave)
    try:
        shown = b""
        while wording.READY.encode() not in shown:
            select.select([master], [], [], 10)
            shown += os.read(master, 65536)
        return time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        os.close(master)


if __name__ == "__main__":
    sys.exit(main())
