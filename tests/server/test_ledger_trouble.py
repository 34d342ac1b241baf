"""A ledger that cannot be written refuses calls before any work; the server lives, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import RemoteError, ServerStartFailed
from mcp_agent.server.client import Client
from mcp_agent.server.starting import is_listening
from mcp_agent.state import HOME_VARIABLE, StateDirectory
from tests.server.conftest import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.conftest import Server

pytestmark = pytest.mark.contract("W6")

ECHO = b'{"command": "touch done"}'


def test_a_ledger_that_another_process_holds_refuses_the_call_and_the_server_lives(
    server: Server, session: str
) -> None:
    bridge = server.bridge(session)
    with closing(sqlite3.connect(server.state.ledger, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = server.call(session, ECHO)
        assert (refused["status"], refused["error"]["kind"]) == (503, "LedgerUnusable")
        text = bridge.call("execute_shell_command", command="touch done")
        assert text.startswith("ERROR: layer=server_tool owner=server tool=execute_shell_command")
        assert "another process holds its lock" in text
        assert "execute_shell_command was not started" in text
        other.execute("ROLLBACK")
    assert not (server.work / "done").exists()
    assert server.call(session, ECHO)["status"] == 200
    assert (server.work / "done").exists()


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_ledger_is_left_alone_and_the_start_says_what_to_do(state: StateDirectory, damage: bytes) -> None:
    state.create()
    state.ledger.write_bytes(damage)
    with pytest.raises(ServerStartFailed, match=r"calls.sqlite: .*left as it is; move it away"):
        Client.connect(state)
    assert state.ledger.read_bytes() == damage
    state.ledger.unlink()
    with Client.connect(state) as client:
        assert client.get("/calls") == {"calls": []}


@dataclass
class Disk:
    """A small disk that is mounted for one server alone, seen from outside."""

    root: Path
    state: StateDirectory
    client: Client

    def fill(self) -> None:
        with (self.root / "filler").open("wb", buffering=0) as filler:
            try:
                while True:
                    filler.write(b"x" * 4096)
            except OSError:
                pass

    def free(self) -> None:
        (self.root / "filler").unlink()

    def call(self, call_id: str) -> dict[str, object]:
        path = "/tools/virtual/list_tool_calls"
        return self.client.call_tool(path, {}, call_id=call_id)


@pytest.fixture
def disk(short_tmp: Path) -> Iterator[Disk]:
    unshare = ["unshare", "--mount", "--propagation", "private"]
    if os.getuid() or shutil.which("unshare") is None or subprocess.run([*unshare, "true"], check=False).returncode:
        pytest.skip("only root can mount a disk of its own")
    home = short_tmp / "home"
    home.mkdir(mode=0o700)
    mount = f'mount -t tmpfs -o size=2m,mode=700 tmpfs "{home}" && exec "$@"'
    argv = [*unshare, "sh", "-c", mount, "sh", sys.executable, "-m", "mcp_agent.server"]
    with subprocess.Popen(argv, env={**os.environ, HOME_VARIABLE: str(home)}) as process:
        root = Path(f"/proc/{process.pid}/root{home}")
        state = StateDirectory(root)
        eventually(lambda: (root / "run").is_dir() and is_listening(state))
        yield Disk(root, state, Client.connect(state, start=False))
        process.terminate()


def test_a_full_disk_refuses_calls_and_they_are_taken_again_when_there_is_space(disk: Disk) -> None:
    disk.call("call_before")
    disk.fill()
    refusals = 0
    for number in range(200):
        try:
            disk.call(f"call_{number}")
        except RemoteError as error:
            assert error.kind == "LedgerUnusable"
            assert "the disk is full" in str(error)
            refusals += 1
    assert refusals
    assert disk.client.get("/server")["running_calls"] == 0
    disk.free()
    assert "call_before" in str(disk.call("call_after")["text"])
