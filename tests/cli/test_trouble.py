"""What a person reads when the server, a record or the disk goes away under a command."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from mcp_agent.disk import check_writable, disk_trouble
from mcp_agent.errors import BadConfiguration
from tests.cli.conftest import BOUND_SECONDS, COMMAND, eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Person

START = ("session", "start", "--provider", "scripted", "--trust")


def start(person: Person, *options: str) -> str:
    started = person.run(*START, *options)
    assert started.status == 0, started.err
    return started.out.strip()


def kill_server(person: Person) -> None:
    """Kill the server, and return once it is gone."""
    pid = person.run("server", "status", "--json").json["pid"]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: person.run("server", "status").out == "not running\n")


@pytest.mark.contract("I4", "S9")
def test_a_prompt_whose_server_is_killed_is_asked_for_at_the_next_server(person: Person) -> None:
    record = person.root / "record"
    started = person.run(*START, SCRIPTED_AGENT_QUIRKS=json.dumps({"record": str(record)}))
    session = started.out.strip()
    sending = person.begin("session", "send", session, "hello", "--json")
    eventually(lambda: record.exists() and '"submit"' in record.read_text())
    kill_server(person)
    done = person.finish(sending)
    assert (done.status, done.json["outcome"]) == (0, "delivered"), done
    listed = person.run("session", "messages", session, "--json").json["messages"]
    assert [(each["id"], each["state"]) for each in listed] == [(done.json["message_id"], "delivered")]
    assert record.read_text().count('"submit"') == 1


@pytest.mark.contract("S8", "S9")
def test_stop_now_ends_a_session_whose_record_is_damaged_and_the_list_shows_it(person: Person) -> None:
    session = start(person)
    kill_server(person)
    record = person.home / "sessions" / session / "session.json"
    record.write_text(record.read_text()[:50])

    listed = person.run("session", "list", "--json").json["sessions"]
    assert [(each["id"], each["state"]) for each in listed] == [(session, "unreadable")]
    assert "unreadable (its session.json is damaged)" in person.run("session", "list").out
    assert any("scripted" in line for line in person.processes())
    stopped = person.run("server", "stop", "--now", "--json")
    assert (stopped.status, stopped.json["stopped_sessions"], stopped.json["was_running"]) == (0, 1, True)
    assert not any("scripted" in line for line in person.processes())
    assert person.run("server", "stop", "--now").out == "not running\n"


@pytest.mark.contract("S8", "S9")
def test_stop_now_ends_sessions_that_are_not_adopted_since_tmux_hangs(person: Person) -> None:
    session = start(person)
    tmux = json.loads((person.home / "run" / "tmux.sock.server").read_text())["pid"]
    os.kill(tmux, signal.SIGSTOP)
    try:
        kill_server(person)
        assert person.run("server", "stop", "--now", "--json").json["stopped_sessions"] == 1
        assert not any("scripted" in line for line in person.processes())
    finally:
        os.kill(tmux, signal.SIGCONT)
    assert [(each["id"], each["state"]) for each in person.sessions()] == [(session, "stopped")]


@pytest.mark.parametrize(
    ("options", "problem"), [("size=64k", "No space left on device"), ("ro", "Read-only file system")]
)
def test_a_disk_that_takes_nothing_is_one_line_that_names_the_directory(
    person: Person, options: str, problem: str
) -> None:
    person.home.mkdir(mode=0o700)
    script = f'mount -t tmpfs -o mode=700,{options} none "$MCP_AGENT_HOME" && exec "$@"'
    argv = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*argv, "true"], env=person.environment, check=False).returncode
    ):
        pytest.skip("needs the right to mount")
    command = [*argv, COMMAND, *START]
    done = subprocess.run(
        command,
        cwd=person.work,
        env=person.environment,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert str(person.home) in done.stderr
    assert done.stderr.endswith(f": {problem}\n")


def test_only_a_disk_that_takes_nothing_is_blamed(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert str(disk_trouble(full, tmp_path)) == "the output: cannot be written to: No space left on device"
    assert disk_trouble(OSError(errno.EPIPE, "Broken pipe"), tmp_path) is None
    assert disk_trouble(ValueError("no"), tmp_path) is None
    grouped = ExceptionGroup("one", [OSError(errno.EROFS, "Read-only file system", "/somewhere/file")])
    assert str(disk_trouble(grouped, tmp_path)) == "/somewhere/file: cannot be written to: Read-only file system"
    check_writable(tmp_path)
    with pytest.raises(BadConfiguration, match="No such file"):
        check_writable(tmp_path / "gone")
