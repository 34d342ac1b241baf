"""A run's place is gone after it, also when the run could not see to that itself."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.processes import ProcessIdentity, identify, is_alive, marked, send_signal
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.scenarios.workspace import BEGINS_WITHIN, PREFIX, RUN_FILE, Workspace, sweep, workspace
from mcp_agent.server.client import Client
from mcp_agent.sessions.environment import SESSION_MARK

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.anyio

BOUND_SECONDS = 60


async def connect(space: Workspace) -> Client:
    environ = space.environment(os.environ)
    return await anyio.to_thread.run_sync(lambda: Client.connect(space.state, environ=environ))


async def start_session(client: Client, space: Workspace) -> str:
    body = {
        "provider": "scripted",
        "working_directory": str(space.working_directory),
        "home": str(space.home),
        "environment": {"PATH": "/usr/bin:/bin"},
        "trust": True,
        "allow_tools": ["execute_shell_command"],
    }
    session = await anyio.to_thread.run_sync(lambda: client.post("/sessions", body, waits=True))
    return str(session["id"])


def words_of(process: ProcessIdentity) -> bytes:
    try:
        return Path(f"/proc/{process.pid}/cmdline").read_bytes()
    except OSError:
        return b""


def server_of(space: Workspace) -> ProcessIdentity:
    return ProcessIdentity.from_json(json.loads(space.state.server_record.read_text()))


@pytest.fixture
def dead() -> Iterator[ProcessIdentity]:
    """A run that is over."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        identity = identify(process.pid)
        assert identity is not None
        process.communicate(b"\n")
        yield identity


def left_root(parent: Path, run: ProcessIdentity | None, *, name: str = "left", age: timedelta = timedelta(0)) -> Path:
    """A root as a killed run leaves it."""
    root = parent / f"{PREFIX}{name}"
    (root / "state").mkdir(parents=True, mode=0o700)
    if run is not None:
        (root / RUN_FILE).write_text(json.dumps(run.to_json()))
    when = time.time() - age.total_seconds()
    os.utime(root, (when, when))
    return root


async def test_a_workspace_is_private_and_gone_afterwards(short_tmp: Path) -> None:
    async with workspace(short_tmp) as space:
        assert stat.S_IMODE(space.root.stat().st_mode) == 0o700
        assert space.root.parent == short_tmp.resolve()
        environment = space.environment({"PATH": "/bin", "MCP_AGENT_HOME": "/mine", "XDG_CONFIG_HOME": "/mine"})
        assert "/mine" not in environment.values()
        assert environment["PATH"] == "/bin"
    assert not space.root.exists()


@pytest.mark.contract("X1")
async def test_leaving_ends_the_server_and_the_sessions_whatever_was_raised(short_tmp: Path) -> None:
    with anyio.fail_after(BOUND_SECONDS), pytest.raises(LookupError):
        async with workspace(short_tmp) as space:
            with await connect(space) as client:
                session = await start_session(client, space)
                server = server_of(space)
                assert marked(SESSION_MARK, session)
                raise LookupError
    assert not is_alive(server)
    assert marked(SESSION_MARK, session) == []
    assert list(short_tmp.glob(f"{PREFIX}*")) == []


@pytest.mark.contract("X1")
async def test_leaving_by_a_cancellation_cleans_up_as_well(short_tmp: Path) -> None:
    with anyio.fail_after(BOUND_SECONDS), anyio.CancelScope() as scope:
        async with workspace(short_tmp) as space:
            (await connect(space)).close()
            server = server_of(space)
            scope.cancel()
            await anyio.sleep_forever()
    assert not is_alive(server)
    assert not space.root.exists()


@pytest.mark.contract("X1")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "stuck"])
async def test_the_next_run_sweeps_what_a_dead_or_a_stuck_server_left(
    short_tmp: Path, dead: ProcessIdentity, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent.scenarios.workspace.STOPS_WITHIN", timedelta(seconds=1))
    monkeypatch.setattr("mcp_agent.scenarios.workspace.ENDS_WITHIN", timedelta(seconds=1))
    space = Workspace(left_root(short_tmp, dead))
    space.home.mkdir()
    space.working_directory.mkdir()
    with await connect(space) as client:
        session = await start_session(client, space)
        prompt = {"text": "run exactly this command: `trap '' TERM HUP; setsid sleep 603`"}
        await anyio.to_thread.run_sync(lambda: client.post(f"/sessions/{session}/send", prompt, waits=True))
        with anyio.fail_after(BOUND_SECONDS):
            while not any(b"sleep\x00603" in words_of(process) for process in marked(SESSION_MARK, session)):  # noqa: ASYNC110 - nothing tells of it
                await anyio.sleep(0.05)
    server, processes = server_of(space), marked(SESSION_MARK, session)
    assert processes
    send_signal(server, number)
    with anyio.fail_after(BOUND_SECONDS):
        await sweep(short_tmp)
        assert await wait_gone([server, *processes], limit=timedelta(seconds=BOUND_SECONDS))
    assert not space.root.exists()


async def test_a_live_runs_root_is_left_alone(short_tmp: Path) -> None:
    async with workspace(short_tmp) as space:
        await sweep(short_tmp)
        async with workspace(short_tmp) as other:
            assert other.root != space.root
        assert space.working_directory.is_dir()


async def test_a_root_that_names_no_run_is_swept_once_it_is_old(short_tmp: Path) -> None:
    young = left_root(short_tmp, None, name="young")
    old = left_root(short_tmp, None, name="old", age=2 * BEGINS_WITHIN)
    await sweep(short_tmp)
    assert young.exists()
    assert not old.exists()


async def test_a_pid_that_was_given_to_another_process_is_no_live_run(short_tmp: Path) -> None:
    me = identify(os.getpid())
    assert me is not None
    root = left_root(short_tmp, me._replace(start_time=me.start_time - 1))
    await sweep(short_tmp)
    assert not root.exists()


async def test_what_is_not_ours_is_never_swept(short_tmp: Path, dead: ProcessIdentity) -> None:
    precious = short_tmp / "precious"
    precious.mkdir()
    (precious / RUN_FILE).write_text(json.dumps(dead.to_json()))
    (short_tmp / f"{PREFIX}link").symlink_to(precious)
    (short_tmp / f"{PREFIX}file").touch()
    foreign = left_root(short_tmp, dead, name="foreign")
    if os.getuid() == 0:
        os.chown(foreign, 65534, 65534)
    await sweep(short_tmp)
    assert (precious / RUN_FILE).exists()
    assert (short_tmp / f"{PREFIX}file").exists()
    assert foreign.exists() is (os.getuid() == 0)
