"""Area i of the known faults: what ends idle sessions ends no others, and no process of somebody else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import pexpect
import pytest

from mcp_agent.errors import RemoteError
from mcp_agent.processes import SESSION_MARK, identify, is_alive, marked
from mcp_agent.tmux.server import ServerProcess, record_path

if TYPE_CHECKING:
    from tests.faults.conftest import House, Session

pytestmark = [pytest.mark.contract("S6", "S8")]

LIMIT = {"idle_retention": "3s"}


def is_marked(session: Session, option: str, value: str) -> None:
    """Return once the clock of its pane says this."""
    session.until(lambda: session.house.tmux("display-message", "-p", "-t", session.pane, f"#{{{option}}}") == value)


def is_closed(session: Session) -> None:
    session.until(lambda: session.state == "stopped")


def stays_while_idle_ones_are_closed(house: House, session: Session) -> None:
    """A session that is truly idle comes and goes beside it, so its own limit passes."""
    is_closed(house.start(asked=LIMIT))
    assert session.state not in {"stopped", "lost", "exited"}


def test_i01_a_truly_idle_session_is_closed_and_says_why_and_when(house: House) -> None:
    session = house.start(asked=LIMIT)
    pid = session.pid
    is_closed(session)

    shown = session.show()
    closed = shown["closed"]
    assert shown["detail"] == "idle for 3s"
    assert (closed["layer"], closed["owner"], closed["setting"]) == (
        "idle_retention",
        "session manager",
        "--idle-retention",
    )
    assert closed["configured_seconds"] == 3.0
    assert closed["elapsed_seconds"] >= 3.0
    assert closed["at"] >= shown["created_at"] + 3.0
    session.until(lambda: not runs(pid))


def test_i01_a_silent_turn_outlives_its_limit(house: House) -> None:
    session = house.start(asked=LIMIT, thinks_until="gate")
    assert session.send("work") == "delivered"
    stays_while_idle_ones_are_closed(house, session)

    session.open_gate()
    is_closed(session)
    assert session.show()["turns"][0]["outcome"] == "completed"


def test_i01_output_without_input_is_life(house: House) -> None:
    session, witness = house.start(asked=LIMIT), house.start(asked=LIMIT)
    letters = cycle("abcdefghijklmnopqrstuvwxyz")

    def is_closed_while_this_one_is_typed_at() -> bool:
        session.type(next(letters))
        return witness.state == "stopped"

    session.until(is_closed_while_this_one_is_typed_at)
    assert session.state == "ready"


def test_i01_a_prompt_at_the_very_limit_is_taken_or_refused_and_never_lost(house: House) -> None:
    session = house.start(asked=LIMIT)
    is_marked(session, "@mcp_ticks", "2")
    try:
        outcome = session.send("just in time")
    except RemoteError as refused:
        assert "idle for 3s" in str(refused) or session.state == "stopped"
        assert session.submitted == []
    else:
        assert outcome == "delivered"
        assert session.submitted == ["just in time"]


def test_i01_an_attached_client_keeps_a_session(house: House) -> None:
    session = house.start(asked=LIMIT)
    with attached(house, session):
        is_marked(session, "@mcp_ticks", "0")
        stays_while_idle_ones_are_closed(house, session)
    is_closed(session)


def test_i01_a_session_that_works_is_kept_while_the_server_is_dead_and_idle_ones_are_closed(own_house: House) -> None:
    session = own_house.start(asked=LIMIT, thinks_until="gate")
    assert session.send("work") == "delivered"
    idle = own_house.start(asked=LIMIT)
    working, waiting = session.pid, idle.pid
    is_marked(session, "@mcp_held", "1")
    is_marked(idle, "@mcp_held", "0")
    own_house.kill()
    session.until(lambda: not runs(waiting))
    assert runs(working)

    own_house.start_again()
    assert idle.show()["closed"]["by"] == "tmux"
    assert session.state == "busy"
    session.open_gate()
    is_closed(session)
    assert session.show()["closed"]["by"] == "server"


def test_i01_what_ignores_a_hangup_ends_with_its_session_when_no_server_lives(own_house: House) -> None:
    session = own_house.start(asked=LIMIT)
    is_marked(session, "@mcp_ticks", "1")
    environment = {"PATH": "/usr/bin:/bin", SESSION_MARK: session.id}
    stubborn = ["/bin/sh", "-c", "trap '' TERM HUP; echo; while :; do sleep 1; done"]
    with subprocess.Popen(stubborn, env=environment, start_new_session=True, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout
            child.stdout.readline()
            own_house.kill()
            assert child.wait(timeout=40) == -signal.SIGKILL
        finally:
            child.kill()
    session.until(lambda: not marked(SESSION_MARK, session.id))


def runs(pid: int) -> bool:
    found = identify(pid)
    return found is not None and is_alive(found)


@contextmanager
def attached(house: House, session: Session) -> Iterator[None]:
    """A person's own client."""
    target = session.show()["pane"]["tmux_session_id"]
    argv = ["-u", "-S", str(house.state.tmux_socket), "attach", "-t", target]
    client = pexpect.spawn("tmux", argv, env={**os.environ, "TERM": "xterm"})
    is_marked(session, "session_attached", "1")
    try:
        yield
    finally:
        client.close(force=True)


@pytest.fixture
def innocent() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with us, and now has a pid that was once one of ours."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_i03_a_process_with_the_pid_of_one_of_ours_is_left_alone(
    own_house: House, innocent: subprocess.Popen[bytes]
) -> None:
    session = own_house.start()
    own_house.kill()
    own_house.tmux_server.signal(signal.SIGKILL)
    found = identify(innocent.pid)
    assert found is not None
    another = found._replace(start_time=found.start_time - 1).to_json()
    rewrite(own_house.state.session(session.id) / "session.json", another, innocent.pid)
    own_house.state.server_record.write_text(json.dumps({**another, "version": "0", "socket": "nowhere"}))
    ServerProcess(innocent.pid, 1.0).record(record_path(own_house.state.tmux_socket))

    own_house.start_again()
    session.until(lambda: session.state in {"lost", "stopped"})
    session.stop()
    assert session.show()["pane"] is None or session.state == "stopped"
    record = json.loads((own_house.state.session(session.id) / "session.json").read_text())
    assert record["pane"] is None
    assert innocent.poll() is None


def rewrite(path: Path, another: dict[str, object], pid: int) -> None:
    """Let a record name this pid wherever it names one."""
    record = json.loads(path.read_text())
    record["pane"]["pid"] = pid
    path.write_text(json.dumps(record))
    helpers = path.with_name("helpers.json")
    helpers.write_text(json.dumps({"cli": another, "helpers": [another]}))
