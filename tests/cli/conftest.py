"""The installed `mcp-agent` as a person runs it: a process of its own, in a home of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pexpect
import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BOUND_SECONDS = 60.0
"""Far beyond what anything here takes: reached only when something hangs."""

BIN = Path(sys.executable).parent
COMMAND = str(BIN / "mcp-agent")
BUILT_IN_SLEEP = "run exactly this command: `sleep 600`"
"""What the scripted agent's own rules take for a tool call."""


def eventually(condition: Callable[[], object]) -> None:
    """Return once the condition holds, which nothing tells us of."""
    deadline = time.monotonic() + BOUND_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.05)


@dataclass(frozen=True)
class Done:
    """One finished command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def assert_one_line(done: Done, status: int, *words: str) -> None:
    """Nothing but one line for people, with all these words in it, and this exit code."""
    assert (done.status, done.out) == (status, ""), done
    assert done.err.startswith("mcp-agent: ")
    assert done.err.count("\n") == 1
    for word in words:
        assert word in done.err


@dataclass
class Person:
    """Somebody at a shell, whose machine holds nothing of ours at first."""

    root: Path
    environment: dict[str, str]
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        return self.root / "state"

    @property
    def work(self) -> Path:
        return self.root / "work"

    def run(self, *arguments: str, stdin: bytes = b"", prefix: tuple[str, ...] = (), **variables: str) -> Done:
        """Run a command to its end. A traceback never reaches a person."""
        done = subprocess.run(
            [*prefix, COMMAND, *arguments],
            cwd=self.work,
            env=self.environment | variables,
            input=stdin,
            capture_output=True,
            timeout=BOUND_SECONDS,
            check=False,
        )
        return self._checked(done.returncode, done.stdout.decode(), done.stderr.decode())

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command and do not wait for it."""
        process = subprocess.Popen(
            [COMMAND, *arguments],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def finish(self, process: subprocess.Popen[str]) -> Done:
        out, err = process.communicate(timeout=BOUND_SECONDS)
        return self._checked(process.returncode, out, err)

    def at_terminal(self, *arguments: str, dimensions: tuple[int, int] = (24, 80)) -> pexpect.spawn[str]:
        """Start a command at a terminal of its own."""
        return pexpect.spawn(
            COMMAND,
            list(arguments),
            cwd=str(self.work),
            env=self.environment,
            timeout=BOUND_SECONDS,
            encoding="utf-8",
            dimensions=dimensions,
        )

    def printed(self, *arguments: str, columns: int) -> str:
        """What a command prints to a terminal of this width."""
        with self.at_terminal(*arguments, dimensions=(40, columns)) as terminal:
            return str(terminal.read()).replace("\r\n", "\n")

    def ask(self, prompt: str) -> tuple[str, ...]:
        return ("ask", "--provider", "scripted", "--trust", "--allow-tool", "execute_shell_command", prompt)

    def processes(self) -> list[str]:
        """Every process that knows of this person's state, but for the server and ourselves."""
        return [
            f"{process.pid} {' '.join(process.info['cmdline'] or [])}"
            for process in psutil.process_iter(["cmdline"])
            if process.pid != os.getpid() and self._knows(process) and "mcp_agent.server" not in process.info["cmdline"]
        ]

    def sleeping(self) -> bool:
        """Whether the command of `BUILT_IN_SLEEP` runs."""
        return any(line.endswith("sleep 600") for line in self.processes())

    def sessions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.run("session", "list", "--all", "--json").json["sessions"]
        return found

    def _knows(self, process: psutil.Process) -> bool:
        try:
            return any(str(self.root) in text for text in (*process.cmdline(), *process.environ().values()))
        except psutil.Error:
            return False

    def _checked(self, status: int, out: str, err: str) -> Done:
        assert "Traceback" not in err, err
        assert "Exception ignored" not in err, err
        return Done(status, out, err)


@pytest.fixture
def person(short_tmp: Path) -> Iterator[Person]:
    (short_tmp / "work").mkdir()
    (short_tmp / "user").mkdir()
    environment = {
        "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(short_tmp / "user"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "MCP_AGENT_HOME": str(short_tmp / "state"),
    }
    person = Person(short_tmp, environment)
    yield person
    for process in person.started:
        process.kill()
        process.communicate()
    if (person.home / "server.lock").exists():
        person.run("server", "stop", "--now")
    for line in person.processes():
        os.kill(int(line.split()[0]), signal.SIGKILL)


@pytest.fixture
def program(person: Person) -> Callable[..., Path]:
    """Makes a program of a person's own PATH, alone in its directory."""

    def make(name: str, text: str) -> Path:
        directory = person.root / f"bin-{name}"
        directory.mkdir()
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)
        return directory

    return make
