"""Which processes of a session keep it: its jobs, and not what its CLI lives with."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from mcp_agent.processes import SESSION_MARK, ProcessIdentity, identify
from mcp_agent.sessions.retention.jobs import helpers_of, jobs_of

pytestmark = pytest.mark.contract("S6")

SESSION = "s-0123456789"
CLI = r"""
import os, subprocess, sys
sleep = ["sleep", "300"]
def say(process): print(process.pid, flush=True)
say(subprocess.Popen(sleep, start_new_session=True))
for word in sys.stdin:
    if word == "job\n": say(subprocess.Popen(sleep, start_new_session=True))
    if word == "helper\n": say(subprocess.Popen(sleep))
    if word == "daemon\n":
        daemon = "setsid sleep 300 >/dev/null & echo $!"
        print(subprocess.check_output(["/bin/sh", "-c", daemon], text=True), end="", flush=True)
"""
"""Starts a helper with a group of its own, then what each line says; prints the pid of each."""


class Cli:
    """A CLI as the process table sees it."""

    def __init__(self, stack: ExitStack) -> None:
        environment = {"PATH": "/usr/bin:/bin", SESSION_MARK: SESSION}
        self._stack = stack
        self.process = subprocess.Popen(
            ["python3", "-I", "-c", CLI], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        stack.enter_context(self.process)
        self.server = self._told()

    @property
    def pid(self) -> int:
        return self.process.pid

    def start(self, what: str) -> ProcessIdentity:
        assert self.process.stdin
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self._told()

    def _told(self) -> ProcessIdentity:
        assert self.process.stdout
        pid = int(self.process.stdout.readline())
        found = identify(pid)
        assert found is not None
        self._stack.callback(subprocess.run, ["kill", "-9", str(pid)], stderr=subprocess.DEVNULL, check=False)
        return found


@pytest.fixture
def cli() -> Iterator[Cli]:
    with ExitStack() as stack:
        yield Cli(stack)


def test_a_cli_without_jobs_has_none(cli: Cli, tmp_path: Path) -> None:
    assert jobs_of(SESSION, cli.pid, helpers_of(cli.pid, tmp_path)) == []


@pytest.mark.parametrize("kind", ["job", "daemon"])
def test_what_was_left_running_is_a_job_below_the_cli_or_elsewhere(cli: Cli, tmp_path: Path, kind: str) -> None:
    helpers = helpers_of(cli.pid, tmp_path)
    job = cli.start(kind)

    assert jobs_of(SESSION, cli.pid, helpers) == [job]


def test_a_helper_that_came_later_shares_the_group_of_its_cli(cli: Cli, tmp_path: Path) -> None:
    helpers = helpers_of(cli.pid, tmp_path)
    cli.start("helper")

    assert jobs_of(SESSION, cli.pid, helpers) == []


def test_the_helpers_of_a_launch_are_known_to_a_later_server(cli: Cli, tmp_path: Path) -> None:
    helpers = helpers_of(cli.pid, tmp_path)
    job = cli.start("job")

    assert helpers_of(cli.pid, tmp_path) == helpers
    assert cli.server in helpers
    assert jobs_of(SESSION, cli.pid, helpers_of(cli.pid, tmp_path)) == [job]


@pytest.mark.parametrize("text", ["", "[]", '{"cli": {}, "helpers": []}', '{"cli": 1}'])
def test_a_file_that_says_nothing_is_written_anew(cli: Cli, tmp_path: Path, text: str) -> None:
    (tmp_path / "helpers.json").write_text(text)

    assert cli.server in helpers_of(cli.pid, tmp_path)
    assert cli.server in helpers_of(cli.pid, tmp_path)


def test_the_helpers_of_an_earlier_launch_are_not_those_of_this_one(cli: Cli, tmp_path: Path) -> None:
    helpers_of(cli.pid, tmp_path)
    with ExitStack() as stack:
        again = Cli(stack)
        assert helpers_of(again.pid, tmp_path) == {again.server}


def test_a_cli_that_is_gone_has_neither(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as process:
        process.wait()
    assert helpers_of(process.pid, tmp_path) == frozenset()
    assert jobs_of(SESSION, process.pid, frozenset()) == []
