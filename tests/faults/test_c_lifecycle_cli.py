"""Areas b and c of the known faults: what people type, and what they see when they attach."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import psutil
import pytest

from mcp_agent.errors import McpAgentError

if TYPE_CHECKING:
    from tests.faults.conftest import House, Session

COMMAND = str(Path(sys.executable).with_name("mcp-agent"))
ALIKE = ("rel.1", "rel_1", "rel:1", "rel-1")


def named(house: House, name: str, **more: object) -> Session:
    return house.start(asked={"name": name, **more})


def mcp_agent(house: House, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as a job runs it: no terminal, no session, next to no environment."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(house.work),
        "MCP_AGENT_HOME": str(house.state.root),
    }
    return subprocess.run(
        ["setsid", "env", "-i", *(f"{name}={value}" for name, value in environment.items()), COMMAND, *arguments],
        cwd=house.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def size(session: Session) -> str:
    return session.house.tmux("display-message", "-p", "-t", session.pane, "#{window_width}x#{window_height}")


def attached(session: Session) -> pexpect.spawn[str]:
    """A person with a small terminal, who typed what `session attach` is for."""
    return pexpect.spawn(
        COMMAND,
        ["session", "attach", session.id],
        env=os.environ | {"MCP_AGENT_HOME": str(session.house.state.root), "TERM": "xterm-256color"},
        dimensions=(20, 60),
        timeout=40,
        encoding="utf-8",
    )


@pytest.mark.contract("S2")
def test_b02_a_session_made_while_a_small_client_is_attached_has_its_own_size(house: House) -> None:
    first = house.start()
    person = attached(first)
    first.until(lambda: size(first) == "60x19")

    assert size(house.start(asked={"columns": 200, "rows": 50})) == "200x50"
    person.close(force=True)
    first.until(lambda: size(first) == "120x36")


@pytest.mark.contract("S2")
def test_b02_a_session_has_its_own_size_again_when_a_small_client_has_left(house: House) -> None:
    session = house.start(asked={"columns": 200, "rows": 50})
    person = attached(session)
    session.until(lambda: size(session) == "60x19")
    person.send("\x02d")
    person.expect(pexpect.EOF)

    session.until(lambda: size(session) == "200x50")
    assert (person.wait(), session.send("hello")) == (0, "delivered")


@pytest.mark.contract("A3")
def test_c01_each_session_has_the_variables_of_whoever_started_it(house: House) -> None:
    first, second, third = (
        house.start(asked={"named_environment": {"TOKEN": value} if value else {}}) for value in ("alpha", "beta", "")
    )

    seen = [psutil.Process(session.pid).environ().get("TOKEN") for session in (first, second, third)]
    assert seen == ["alpha", "beta", None]


@pytest.mark.contract("S2")
def test_c02_names_that_look_alike_are_different_sessions(house: House) -> None:
    sessions = {name: named(house, name) for name in ALIKE}
    for name in ALIKE:
        assert mcp_agent(house, "session", "send", name, f"to {name}").stdout.startswith("delivered")
    assert {name: session.submitted for name, session in sessions.items()} == {name: [f"to {name}"] for name in ALIKE}

    assert mcp_agent(house, "session", "stop", "rel_1").returncode == 0
    assert {name: session.state for name, session in sessions.items()} == {
        **dict.fromkeys(ALIKE, "ready"),
        "rel_1": "stopped",
    }
    for session in sessions.values():
        session.stop()


@pytest.mark.parametrize("name", ["", "a b", "ä", "a/b", "-x", ".x", "x" * 65, "s-1", "a\nb", "a\0b", "\ud800"])
def test_c02_a_name_that_cannot_be_kept_apart_is_refused(house: House, name: str) -> None:
    with pytest.raises(McpAgentError) as caught:
        named(house, name)

    assert caught.value.kind in {"BadSessionName", "BadRequest"}


@pytest.mark.contract("S2")
def test_c03_a_name_is_never_completed_to_another_one(house: House) -> None:
    longer = named(house, "task-10")
    for command in (("stop",), ("screen",), ("send", "hello")):
        done = mcp_agent(house, "session", command[0], "task-1", *command[1:])
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "mcp-agent: no session task-1; see `mcp-agent session list`\n"

    assert (longer.state, longer.submitted) == ("ready", [])


def test_c16_a_session_starts_without_a_terminal_and_attaching_says_that_it_needs_one(house: House) -> None:
    started = mcp_agent(house, "session", "start", "--provider", "scripted", "--trust")
    assert (started.returncode, started.stderr) == (0, "")

    done = mcp_agent(house, "session", "attach", started.stdout.strip())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
    assert "attaching needs a terminal" in done.stderr
