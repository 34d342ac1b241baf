"""A bridge that is told no session file finds that of the CLI above it; without one it serves nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from mcp_agent.adapter import BRIDGE_FILE_VARIABLE
from mcp_agent.bridge import BRIDGE_PROGRAM, EVENT_PROGRAM, ancestry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.bridge.conftest import FakeServer

BOUND_SECONDS = 20
INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
CLI = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
"""A CLI that starts its servers; another process between it and them does the same."""
WITHOUT_ENVIRONMENT = ("/usr/bin/env", "-i")

pytestmark = pytest.mark.contract("A2", "B1")


def below(*programs: str, session: str | None, text: str) -> subprocess.CompletedProcess[str]:
    """Run a program of ours below a CLI of this session, which gives what it starts no environment at all."""
    command, environment = command_below(*programs, session=session)
    return subprocess.run(
        command, input=text, env=environment, capture_output=True, text=True, check=False, timeout=BOUND_SECONDS
    )


def command_below(*programs: str, session: str | None) -> tuple[list[str], dict[str, str]]:
    environment = {name: value for name, value in os.environ.items() if name != BRIDGE_FILE_VARIABLE}
    if session is not None:
        environment[BRIDGE_FILE_VARIABLE] = session
    between = (*WITHOUT_ENVIRONMENT, sys.executable, "-c", CLI, *WITHOUT_ENVIRONMENT)
    return [sys.executable, "-c", CLI, *between, sys.executable, "-I", *programs], environment


def test_both_name_the_same_variable() -> None:
    assert ancestry.VARIABLE == BRIDGE_FILE_VARIABLE


def test_the_session_of_the_cli_above_is_served(server: FakeServer, session_file: Callable[..., Path]) -> None:
    command, environment = command_below(str(BRIDGE_PROGRAM), session=str(session_file()))
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as bridge:
        assert bridge.stdin is not None
        assert bridge.stdout is not None
        # The end of its input would cancel what it was asked.
        bridge.stdin.write(INITIALIZE)
        bridge.stdin.flush()
        assert json.loads(bridge.stdout.readline())["id"] == 1
        bridge.stdin.close()
        assert bridge.wait(BOUND_SECONDS) == 0
    assert server.asked[0].headers["Authorization"] == "Bearer token-of-this-test"


def test_an_event_goes_to_the_session_of_the_cli_above(session_file: Callable[..., Path]) -> None:
    path = session_file()
    ended = below(str(EVENT_PROGRAM), session=str(path), text='{"n": 1}')

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert [event.read_text() for event in path.parent.glob("events/*.json")] == ['{"n": 1}']


def test_a_bridge_below_no_session_says_so_and_leaves() -> None:
    ended = below(str(BRIDGE_PROGRAM), session=None, text=INITIALIZE)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "below the CLI of a session" in ended.stderr


def test_an_event_below_no_session_is_nobodys() -> None:
    ended = below(str(EVENT_PROGRAM), session=None, text='{"n": 1}')

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_the_nearest_session_is_the_one(session_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BRIDGE_FILE_VARIABLE, "/of/an/outer/session")
    path = session_file()
    below(str(EVENT_PROGRAM), session=str(path), text='{"n": 2}')

    assert len(list(path.parent.glob("events/*.json"))) == 1
