"""Fixtures of the black-box tests: a machine of one's own, and a model on loopback."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import pytest

from e2e.place import BINARIES, KEY, Place

MODEL_PROGRAM = Path(__file__).with_name("model_program.py")


@pytest.fixture
def place() -> Iterator[Place]:
    """A place of its own; whatever a failing test left running is ended with it."""
    root = Path(tempfile.mkdtemp(prefix="mae-", dir="/tmp"))
    for name in ("home", "work", "tmp"):
        (root / name).mkdir()
    environment = {
        "PATH": os.pathsep.join([*map(str, BINARIES), "/usr/local/bin:/usr/bin:/bin"]),
        "HOME": str(root / "home"),
        "TMPDIR": str(root / "tmp"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "MCP_AGENT_HOME": str(root / "state"),
    }
    found = Place(root, environment)
    yield found
    found.run("server", "stop", "--now")
    shutil.rmtree(root, ignore_errors=True)


@dataclass(frozen=True)
class Model:
    """A scripted model on loopback."""

    url: str
    _input: IO[bytes]
    _output: IO[bytes]

    def tool_results(self) -> list[str]:
        """What it was given as the results of its tool calls so far, oldest first."""
        return cast("list[str]", self._ask(b"results\n"))

    def said(self) -> list[list[str]]:
        """What the user had said, in each request that it was sent so far."""
        return cast("list[list[str]]", self._ask(b"said\n"))

    def refuse(self, status: int, message: str, **more: object) -> None:
        """Answer every request with this error from now on; `more` is what a `Refusal` holds."""
        self._ask(f"refuse {json.dumps({'status': status, 'message': message, **more})}\n".encode())

    def ignore(self) -> None:
        """Answer every prompt with words that nobody asked for."""
        self._ask(b"ignore\n")

    def accept(self) -> None:
        """Answer requests again."""
        self._ask(b"accept\n")

    def go_down(self) -> None:
        """Close the port, and every connection to it."""
        self._ask(b"down\n")

    def come_up(self) -> None:
        """Open the same port again."""
        self._ask(b"up\n")

    def refusals(self) -> int:
        """How many requests were refused so far."""
        return cast("int", self._ask(b"refusals\n"))

    def _ask(self, line: bytes) -> object:
        self._input.write(line)
        self._input.flush()
        return json.loads(self._output.readline())


@pytest.fixture
def model() -> Iterator[Model]:
    with subprocess.Popen([sys.executable, str(MODEL_PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as model:
        assert model.stdin is not None
        assert model.stdout is not None
        yield Model(model.stdout.readline().decode().strip(), model.stdin, model.stdout)
        model.stdin.close()
        assert model.wait(timeout=30) == 0


@pytest.fixture
def model_url(model: Model) -> str:
    """The address of a scripted model on loopback."""
    return model.url


@pytest.fixture
def onboarded(place: Place) -> Place:
    """A user who has run Claude Code before and approved the test's key, and has trusted nothing yet."""
    state = {"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": [KEY], "rejected": []}}
    (place.root / "home/.claude.json").write_text(json.dumps(state), encoding="utf-8")
    return place
