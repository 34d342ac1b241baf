"""What a look at the world says of a shell command that somebody else started, and that it changes nothing."""

from __future__ import annotations

import os
import signal
import time
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.processes import CALL_MARK, marked, send_signal
from mcp_agent.processes.reaping import reap, wait_gone
from mcp_agent.tools import call_files
from tests.tools.conftest import BOUND_SECONDS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_agent.tools.tool import CallContext, Verdict
    from tests.tools.conftest import Fifo, Shell

pytestmark = [pytest.mark.anyio, pytest.mark.contract("W9")]


async def look(shell: Shell, context: CallContext) -> Verdict:
    arguments = shell.tool.validate({"command": "true"})
    return await shell.tool.check(context.call_id, context, arguments)


@asynccontextmanager
async def running(shell: Shell, fifo: Fifo, context: CallContext) -> AsyncIterator[None]:
    """While this command runs, which is cancelled at the end."""
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: shell.run(f"echo $$ > {fifo.path}; sleep 600", context=context))
        await fifo.running(1)
        yield
        group.cancel_scope.cancel()


async def test_a_running_command_happened_and_runs_on(shell: Shell, fifo: Fifo) -> None:
    context = shell.context()
    async with running(shell, fifo, context):
        before = shell.processes()
        found = await look(shell, context)
        assert (found.evidence, found.detail) == ("happened", "the command was started and still runs")
        assert shell.processes() == before


async def test_an_ended_command_happened_with_its_status_and_the_end_of_its_output(shell: Shell) -> None:
    context = shell.context()
    await shell.run("echo the last words; exit 3", context=context)
    found = await look(shell, context)
    assert found.evidence == "happened"
    assert "exited, exit status 3" in found.detail
    assert "the last words" in found.detail


async def test_a_command_that_a_signal_ended_happened(shell: Shell) -> None:
    context = shell.context()
    await shell.run("kill -KILL $$", context=context)
    assert "signal SIGKILL" in (await look(shell, context)).detail


async def test_a_command_that_could_not_be_started_did_not_happen(shell: Shell) -> None:
    context = shell.context()
    await shell.run("true", context=context, working_directory="nowhere")
    found = await look(shell, context)
    assert found.evidence == "did_not_happen"
    assert "nowhere" in found.detail


async def test_a_command_that_no_supervisor_began_did_not_happen(shell: Shell) -> None:
    context = shell.context()
    await shell.run("true", context=context)
    for name in (call_files.SUPERVISOR, call_files.EXIT):
        (context.call_directory / name).unlink()
    assert (await look(shell, context)).evidence == "did_not_happen"


@pytest.mark.contract("W6", "W9")
async def test_a_call_that_was_announced_and_never_begun_did_not_happen(shell: Shell) -> None:
    context = shell.context()
    shell.tool.announce(context)
    assert (await look(shell, context)).evidence == "did_not_happen"


async def test_an_emptied_directory_cannot_tell(shell: Shell) -> None:
    context = shell.context()
    await shell.run("true", context=context)
    for path in context.call_directory.iterdir():
        path.unlink()
    assert (await look(shell, context)).evidence == "cannot_tell"


async def test_a_withdrawn_announcement_leaves_nothing(shell: Shell) -> None:
    context = shell.context()
    shell.tool.announce(context)
    shell.tool.withdraw(context)
    assert not context.call_directory.exists()


async def test_a_withdrawn_announcement_leaves_what_a_call_of_the_same_id_left(shell: Shell) -> None:
    context = shell.context()
    await shell.run("true", context=context)
    shell.tool.withdraw(context)
    assert call_files.read_exit(context.call_directory) is not None


async def test_after_a_restart_of_the_machine_a_missing_file_proves_nothing(shell: Shell) -> None:
    context = shell.context()
    await shell.run("true", context=context)
    for name in (call_files.SUPERVISOR, call_files.EXIT):
        (context.call_directory / name).unlink()
    before_the_boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) - 60
    os.utime(context.call_directory / call_files.ANNOUNCED, (before_the_boot, before_the_boot))
    assert (await look(shell, context)).evidence == "cannot_tell"


async def test_nothing_at_all_cannot_tell(shell: Shell) -> None:
    assert (await look(shell, shell.context())).evidence == "cannot_tell"


async def test_a_killed_supervisor_cannot_tell(shell: Shell, fifo: Fifo) -> None:
    context = shell.context()
    async with running(shell, fifo, context):
        supervisor = call_files.read_supervisor(context.call_directory)
        assert supervisor is not None
        send_signal(supervisor, signal.SIGKILL)
        await wait_gone(marked(CALL_MARK, context.call_id), limit=timedelta(seconds=BOUND_SECONDS))
    found = await look(shell, context)
    assert found.evidence == "cannot_tell"
    assert "supervisor was killed" in found.detail


@pytest.mark.contract("W6")
async def test_a_recovered_command_answers_as_its_own_call_would_have(shell: Shell) -> None:
    context = shell.context()
    own = await shell.run("echo out; echo err >&2; exit 3", context=context, timeout_seconds=60)
    result = await shell.tool.recover(context)
    assert result is not None
    assert result.structured == own


@pytest.mark.contract("W6")
async def test_a_command_without_any_evidence_is_not_recovered(shell: Shell) -> None:
    with anyio.fail_after(BOUND_SECONDS):
        assert await shell.tool.recover(shell.context()) is None


@pytest.mark.contract("W6", "C3")
async def test_cancelling_a_recovery_ends_the_command(shell: Shell, fifo: Fifo) -> None:
    context = shell.context()
    async with running(shell, fifo, context):
        async with anyio.create_task_group() as group:
            group.start_soon(shell.tool.recover, context)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        assert await reap(lambda: marked(CALL_MARK, context.call_id), grace=timedelta(0)) == []
    assert shell.processes() == []
