"""The chat scenario as a command: its report, and what is left of it when it is ended or killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_agent.processes import identify
from mcp_agent.scenarios.workspace import PREFIX, RUN_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BIN = Path(sys.executable).parent
BOUND_SECONDS = 100.0
NUL = b"\0"
SCENARIO = ("test", "coding-agent-chat-e2e", "--provider")


def eventually(condition: Callable[[], object]) -> None:
    """Return once the condition holds, which nothing tells us of."""
    deadline = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


@pytest.fixture
def environment(short_tmp: Path) -> dict[str, str]:
    return {"PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin", "HOME": str(short_tmp), "LANG": "C.UTF-8"}


def command(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(BIN / "mcp-agent"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.contract("X3", "X4")
def test_what_cannot_run_here_is_one_line_or_one_json_object(environment: dict[str, str]) -> None:
    arguments = (*SCENARIO, "claude-code", "--model-server", "real")
    plain = command(*arguments, environment=environment)
    assert plain.returncode == 4
    assert plain.stdout.startswith("not run: ")
    assert plain.stdout.count("\n") == 1
    told = command(*arguments, "--json", environment=environment)
    assert told.returncode == 4
    report = json.loads(told.stdout)
    assert set(report) == {
        *("provider", "provider_version", "model_server", "result", "reason", "exit_code", "probes"),
    }
    assert (report["provider"], report["result"], report["exit_code"], report["probes"]) == (
        *("claude-code", "not run", 4),
        [],
    )


@pytest.fixture
def running(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A run in the middle of its long silent sleep."""
    process = subprocess.Popen(
        [str(BIN / "mcp-agent"), *SCENARIO, "scripted", "--model-server", "scripted", "--sleep", "602s"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    eventually(lambda: sleeping(process.pid))
    yield process
    process.kill()
    process.communicate()


def root_of(pid: int) -> Path | None:
    run = identify(pid)
    for file in Path("/tmp").glob(f"{PREFIX}*/{RUN_FILE}"):
        if run is not None and json.loads(file.read_text() or "{}") == run.to_json():
            return file.parent
    return None


def sleeping(pid: int) -> bool:
    root = root_of(pid)
    return root is not None and any("sleep 602" in line for line in processes_of(root))


def processes_of(root: Path) -> list[str]:
    """Every process that knows of this place by its environment, arguments or directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            seen = (process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes()
        except OSError:
            continue
        if os.fsencode(root) in seen:
            found.append(f"{process.name} {seen.replace(NUL, b' ').decode(errors='replace')}")
    return found


@pytest.mark.contract("X1")
@pytest.mark.parametrize(
    ("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "SIGTERM"), (signal.SIGHUP, "SIGHUP")]
)
def test_a_signal_in_the_middle_cleans_up(running: subprocess.Popen[str], number: signal.Signals, word: str) -> None:
    root = root_of(running.pid)
    assert root is not None
    running.send_signal(number)
    _, errors = running.communicate(timeout=BOUND_SECONDS)
    assert running.returncode == 128 + number
    assert errors.startswith("mcp-agent: ")
    assert word in errors
    assert errors.count("\n") == 1
    assert processes_of(root) == []
    assert not root.exists()


@pytest.mark.contract("X1")
def test_the_run_after_a_killed_one_sweeps_all_that_it_left(
    running: subprocess.Popen[str], environment: dict[str, str]
) -> None:
    root = root_of(running.pid)
    assert root is not None
    running.kill()
    running.communicate()
    assert len(processes_of(root)) > 3
    arguments = (*SCENARIO, "scripted", "--model-server", "scripted", "--sleep", "1s", "--json")
    done = command(*arguments, environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert processes_of(root) == []
    assert not root.exists()
