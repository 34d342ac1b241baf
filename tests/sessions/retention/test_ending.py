"""What a terminal runs when it closed a pane by itself: the rest of the session's processes end, and nobody else's."""

import json
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mcp_agent.processes import SESSION_MARK, identify, is_alive, marked
from mcp_agent.processes.ending import end_session

pytestmark = pytest.mark.contract("S8")

SESSION = "s-0123456789"
STUBBORN = "trap '' TERM HUP; (trap '' TERM HUP; setsid sleep 300 & ) ; echo; while :; do sleep 1; done"

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts shell scripts that are ended after the test; each has written a line on return."""
    with ExitStack() as stack:

        def run(script: str, session: str = SESSION) -> "subprocess.Popen[str]":
            process = subprocess.Popen(
                ["/bin/sh", "-c", script],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
                env={"PATH": "/usr/bin:/bin", SESSION_MARK: session},
                start_new_session=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout
            process.stdout.readline()
            return process

        yield run


def run_program(word: Path) -> "subprocess.CompletedProcess[bytes]":
    argv = [sys.executable, "-I", "-m", "mcp_agent.processes.ending", SESSION, str(word)]
    return subprocess.run(argv, capture_output=True, timeout=60, check=False)


def test_a_tree_that_ignores_hangups_and_lost_its_parents_is_ended(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent.processes.ending.GRACE_SECONDS", 0.2)
    stubborn, other = start(STUBBORN), start("echo; exec sleep 300", session="s-another")
    assert len(marked(SESSION_MARK, SESSION)) >= 2
    later = start("echo; exec sleep 300", session="s-later")
    me = identify(later.pid)
    assert me is not None

    assert end_session(SESSION, before=me) == []
    assert marked(SESSION_MARK, SESSION) == []
    assert stubborn.wait(timeout=20) is not None
    assert other.poll() is None


def test_what_was_started_after_it_belongs_to_a_resumed_session_and_lives(start: Start) -> None:
    witness = start("echo; exec sleep 300", session="s-witness")
    before = identify(witness.pid)
    assert before is not None
    until_the_process_table_can_tell_them_apart()
    resumed = start("echo; exec sleep 300")

    assert end_session(SESSION, before=before) == []
    assert resumed.poll() is None


def until_the_process_table_can_tell_them_apart() -> None:
    """Start times are counted in hundredths of a second."""
    began = time.monotonic()
    while time.monotonic() < began + 0.03:
        subprocess.run(["true"], check=True)


def test_the_program_leaves_word_for_its_owner_only_and_says_nothing(start: Start, tmp_path: Path) -> None:
    process = start("echo; exec sleep 300")
    word = tmp_path / "closed.json"
    before = time.time()
    ran = run_program(word)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert stat.S_IMODE(word.stat().st_mode) == 0o600
    assert before <= json.loads(word.read_text())["at"] <= time.time()
    assert process.wait(timeout=20) is not None


def test_a_session_without_a_directory_is_ended_all_the_same(start: Start, tmp_path: Path) -> None:
    process = start("echo; exec sleep 300")
    identity = identify(process.pid)
    assert identity is not None

    assert run_program(tmp_path / "gone" / "closed.json").returncode == 0
    assert not is_alive(identity)
