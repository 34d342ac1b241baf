"""A ledger of its own, a clock that stands still, and child processes that use the same file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_codec import decode, encode, kind_of
from mcp_agent.calls.ledger_events import Event, Intent, Recorded
from mcp_agent.calls.ledger_fold import CallState, fold
from mcp_agent.processes import ProcessIdentity

ROOT = Path(__file__).parents[3]
CHILD_LIMIT_SECONDS = 60.0
INTENT = Intent(
    session_id="s-1",
    tool="publish",
    category="custom",
    arguments={"title": "a"},
    digest="d-1",
    turn_id=None,
    wait_limit_seconds=900.0,
    work_limit_seconds=5400.0,
    owner=ProcessIdentity(1, 2, "boot"),
    read_only=False,
    idempotent=False,
)

CHILD_PREAMBLE = """
import os, sys
from pathlib import Path
from mcp_agent.calls.ledger import Ledger
from mcp_agent.errors import LedgerUnusable
from mcp_agent.calls.ledger_events import *
from mcp_agent.processes import identify
path = Path(sys.argv[1])
def intent(digest="d-1", **arguments):
    owner = identify(os.getpid())
    return Intent("s-1", "publish", "custom", arguments, digest, None, 900.0, 5400.0, owner, False, False)
"""


@dataclass
class Clock:
    """A wall clock that moves when a test says so."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Place:
    """Where one ledger lives, and who else may use it."""

    path: Path
    clock: Clock = field(default_factory=Clock)

    def open(self) -> Ledger:
        return Ledger.open(self.path, clock=self.clock)

    def intent(self, **changes: object) -> Intent:
        return replace(INTENT, **changes)  # type: ignore[arg-type]

    def state(self, *events: Event, call_id: str = "call_1", at: float = 1000.0, **changes: object) -> CallState:
        """What these facts say after an intent, one second apart, without any file."""
        facts = [self.intent(**changes), *events]
        return fold(call_id, [Recorded(at + second, fact) for second, fact in enumerate(facts)])

    def child(self, program: str, *prefix: str) -> subprocess.Popen[str]:
        """A process that runs this program with `path`, `intent` and the ledger's names at hand."""
        command = [*prefix, sys.executable, "-c", CHILD_PREAMBLE + program, str(self.path)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run_child(self, program: str, *prefix: str) -> str:
        """What the program prints; it must end well."""
        with self.child(program, *prefix) as child:
            printed, complaints = child.communicate(timeout=CHILD_LIMIT_SECONDS)
        assert child.returncode == 0, complaints
        return printed

    def again(self, event: Event) -> object:
        """The fact, through its written form and back."""
        return decode(kind_of(event), encode(event))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "calls.sqlite")


@pytest.fixture
def ledger(place: Place) -> Iterator[Ledger]:
    with place.open() as opened:
        yield opened
