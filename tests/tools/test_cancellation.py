"""Cancelling a shell command leaves no process, whatever it did to get away."""

from __future__ import annotations

import os
import signal
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.processes import identify, is_alive, send_signal
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.tools import call_files

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_agent.processes import ProcessIdentity
    from mcp_agent.tools.tool import CallContext
    from tests.tools.conftest import Fifo, Shell

pytestmark = pytest.mark.anyio

HOSTILE = """
import os, signal, sys, time

def stay(name):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(sys.argv[1], "w") as fifo:
        fifo.write(f"{os.getpid()}\\n")
    time.sleep(300)

def child(*ways):
    if os.fork() == 0:
        for way in ways:
            way()
        stay(ways)

def fork_again():
    if os.fork():
        os._exit(0)

def forget_environment():
    os.execve(sys.executable, [sys.executable, __file__, sys.argv[1], "alone"], {})

if sys.argv[2:] == ["alone"]:
    stay("alone")
child()
child(os.setsid)
child(os.setpgrp)
child(fork_again)
child(fork_again, os.setsid, fork_again)
child(os.setsid, fork_again, forget_environment)
stay("parent")
"""
"""A tree of seven that ignores TERM, in other groups and sessions, by double forks, and without the mark."""


async def start(shell: Shell, command: str, *, context: CallContext, tasks: anyio.abc.TaskGroup) -> anyio.CancelScope:
    """Run a command in the background; cancelling the scope cancels the call."""
    scope = anyio.CancelScope()

    async def run() -> None:
        with scope:
            await shell.run(command, context=context)

    tasks.start_soon(run)
    return scope


def gone(processes: list[ProcessIdentity]) -> bool:
    return not any(is_alive(process) for process in processes)


@pytest.mark.contract("C3")
async def test_cancelling_a_hostile_tree_leaves_nothing(shell: Shell, fifo: Fifo, tmp_path: Path) -> None:
    (tmp_path / "hostile.py").write_text(HOSTILE, encoding="utf-8")
    command = f"{sys.executable} {tmp_path}/hostile.py {fifo.path}"
    async with anyio.create_task_group() as tasks:
        scope = await start(shell, command, context=shell.context(), tasks=tasks)
        tree = await fifo.running(7)
        assert len(tree) == 7
        scope.cancel()
    assert gone(tree)
    assert shell.processes() == []


@pytest.mark.contract("C3")
async def test_a_polite_tree_is_asked_first(shell: Shell, fifo: Fifo) -> None:
    context = shell.context()
    command = f"trap 'echo tidied; exit 9' TERM; echo $$ > {fifo.path}; while :; do sleep 0.05; done"
    async with anyio.create_task_group() as tasks:
        scope = await start(shell, command, context=context, tasks=tasks)
        await fifo.lines(1)
        scope.cancel()
    record = call_files.read_exit(context.call_directory)
    assert record is not None
    assert (record.ended, record.exit_status, record.signal) == ("cancelled", 9, None)
    assert (context.call_directory / "stdout").read_text(encoding="utf-8") == "tidied\n"


@pytest.mark.contract("C3")
async def test_the_next_command_of_a_cancelled_shell_does_not_run(shell: Shell, fifo: Fifo) -> None:
    async with anyio.create_task_group() as tasks:
        command = f"echo $$ > {fifo.path}; sleep 300; touch next"
        scope = await start(shell, command, context=shell.context(), tasks=tasks)
        await fifo.lines(1)
        scope.cancel()
    assert list(shell.workspace.iterdir()) == []


async def test_a_call_that_is_cancelled_already_starts_nothing(shell: Shell) -> None:
    context = shell.context()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await shell.run("touch ran", context=context)
    assert not (context.call_directory / call_files.SPEC).exists()


async def test_a_call_cancelled_at_any_moment_of_its_start_leaves_nothing(shell: Shell) -> None:
    for checkpoints in range(1, 4):
        async with anyio.create_task_group() as tasks:
            scope = await start(shell, "sleep 300", context=shell.context(), tasks=tasks)
            for _ in range(checkpoints):
                await anyio.lowlevel.checkpoint()
            scope.cancel()
        assert shell.processes() == []


@pytest.mark.contract("C3")
async def test_what_a_command_left_running_ends_with_its_supervisor(shell: Shell) -> None:
    context = shell.context()
    answer = await shell.run("setsid sleep 300 & echo ok", context=context)
    supervisor = call_files.read_supervisor(context.call_directory)
    survivor = identify(answer["survivors"][0])
    assert supervisor and survivor
    send_signal(supervisor, signal.SIGTERM)
    assert await wait_gone([survivor, supervisor], limit=timedelta(seconds=20))
    record = call_files.read_exit(context.call_directory)
    assert record is not None
    assert record.ended == "exited"


SERVER = """
import sys
from pathlib import Path
from mcp_agent.tools.call_files import Spec, write_spec
from mcp_agent.tools.supervision import Supervision

directory, command, limit = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]) or None
directory.mkdir()
write_spec(directory, Spec(command, str(directory), {"PATH": "/usr/bin:/bin"}, None, limit, 0.2, 1000))
supervision = Supervision.start(directory, call_id="call_1", marks={"MCP_AGENT_SESSION": sys.argv[4]})
print(supervision.identity.pid, flush=True)
sys.stdin.read()
"""
"""Something that starts a supervisor and waits to be killed."""


@pytest.mark.parametrize(
    ("command", "limit", "ended"),
    [("read line < {fifo}; echo $line", "0", "exited"), ("sleep 300", "0.5", "killed_work_limit")],
)
async def test_a_command_and_its_limit_survive_the_death_of_the_server(
    shell: Shell, tmp_path: Path, command: str, limit: str, ended: str
) -> None:
    fifo, directory = tmp_path / "go", tmp_path / "call_1"
    os.mkfifo(fifo)
    arguments = [str(directory), command.format(fifo=fifo), limit, shell.session_id]
    async with await anyio.open_process([sys.executable, "-c", SERVER, *arguments]) as server:
        assert server.stdout
        with anyio.fail_after(20):
            supervisor = identify(int((await server.stdout.receive()).decode()))
        server.kill()
        await server.wait()
    assert supervisor and is_alive(supervisor)
    if limit == "0":
        with anyio.fail_after(20):
            await anyio.Path(fifo).write_text("went on\n")
    assert await wait_gone([supervisor], limit=timedelta(seconds=20))
    record = call_files.read_exit(directory)
    assert record is not None
    assert record.ended == ended
    assert (directory / "stdout").read_text(encoding="utf-8") == ("went on\n" if limit == "0" else "")
