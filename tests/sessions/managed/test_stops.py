"""Stops: in order, once, and to the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.lowlevel
import pytest

from mcp_agent.errors import (
    SessionEnded,
    UnknownSession,
)
from mcp_agent.processes import identify, marked
from mcp_agent.sessions.environment import SESSION_MARK

if TYPE_CHECKING:
    from tests.sessions.managed.conftest import House

pytestmark = pytest.mark.anyio

TURNS_OF_THE_LOOP = 1000
"""Enough for a cancelled task to leave."""


def start_marked(session_id: str, **marks: str) -> subprocess.Popen[bytes]:
    """A process of the session in a terminal session of its own."""
    program = "import os, time; os.setsid(); print('up', flush=True); time.sleep(600)"
    environment = {SESSION_MARK: session_id, **marks}
    process = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as stdout:
        assert stdout.readline() == b"up\n"
    return process


@pytest.mark.contract("S8", "C5")
async def test_stop_marks_the_session_stopped_before_anything_is_cancelled(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())

        assert await manager.stop(session.id) == 2
        assert house.cancelled == [(session.id, "stopped", True)]


@pytest.mark.contract("S8", "A2")
async def test_stop_leaves_the_record_and_nothing_else(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        await manager.stop(session.id)

        assert session.state == "stopped"
        assert house.files() == [session.id, f"{session.id}/session.json"]
        assert await house.panes() == []
        assert house.terminal.shut_down == 1


@pytest.mark.contract("S8")
async def test_a_second_stop_waits_for_the_first_and_does_nothing(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        panes_after: list[list[str]] = []

        async def stop() -> None:
            await manager.stop(session.id)
            panes_after.append(await house.panes())

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(stop)
        await manager.stop(session.id)

        assert panes_after == [[], [], []]
        assert len(house.cancelled) == 1


@pytest.mark.contract("S8")
async def test_a_stop_whose_caller_leaves_is_finished(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        with anyio.CancelScope() as scope:
            scope.cancel()
            await manager.stop(session.id)

        assert await house.panes() == []


@pytest.mark.contract("S8")
@pytest.mark.parametrize("how", ["exited", "lost"])
async def test_a_session_that_is_gone_already_can_be_stopped(house: House, how: str) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        pane = house.terminal.pane(session.pane)
        pane.exit(1) if how == "exited" else house.terminal.lose()
        assert await session.wait_until(lambda: session.state == how, limit=timedelta(seconds=10))

        await manager.stop(session.id)

        assert session.state == "stopped"
        assert house.terminal.shut_down == 1


@pytest.mark.contract("S8")
async def test_stop_ends_every_process_that_carries_the_sessions_mark(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        process = start_marked(session.id)
        await manager.stop(session.id)

        assert process.wait(10) == -signal.SIGTERM
        assert marked(SESSION_MARK, session.id) == []


@pytest.mark.contract("C5")
async def test_calls_that_do_not_end_do_not_keep_the_session(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_agent.sessions.manager.CALLS_CANCELLED_WITHIN", timedelta(milliseconds=10))
    async with house.server() as manager:
        session = await manager.start(house.options())

        async def hang(_: str) -> int:
            await anyio.sleep_forever()
            return 1

        manager.cancel_calls = hang

        assert await manager.stop(session.id) == 0
        assert await house.panes() == []


async def test_an_unknown_session_is_an_error(house: House) -> None:
    async with house.server() as manager:
        with pytest.raises(UnknownSession):
            await manager.stop("s-none")


@pytest.mark.contract("S8")
async def test_the_terminal_is_shared_shut_down_with_the_last_session_and_opened_for_the_next(house: House) -> None:
    async with house.server() as manager:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(manager.start, house.options())
        assert (house.terminal.opened, len(await house.panes())) == (1, 2)
        one, two = manager.all()

        await manager.stop(one.id)
        assert house.terminal.shut_down == 0
        await manager.stop(two.id)
        assert house.terminal.shut_down == 1

        await manager.start(house.options())
        assert house.terminal.opened == 2


async def test_a_start_during_the_last_stop_gets_a_terminal_that_lives(house: House) -> None:
    async with house.server() as manager:
        first = await manager.start(house.options())
        async with anyio.create_task_group() as group:
            group.start_soon(manager.stop, first.id)
            group.start_soon(manager.start, house.options())

        living = [session for session in manager.all() if session.over is None]
        assert await house.panes() == [session.id for session in living]
        assert len(living) == 1


async def test_a_terminal_with_panes_of_nobody_is_not_shut_down(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        await house.terminal.spawn(name="x", argv=["x"], cwd=house.work, environment={}, tags={"session": "s-other"})
        await manager.stop(session.id)

        assert house.terminal.shut_down == 0
        assert await house.panes() == ["s-other"]


@pytest.mark.contract("S8")
async def test_stop_all_stops_all(house: House) -> None:
    async with house.server() as manager:
        await manager.start(house.options())
        await manager.start(house.options())
        await manager.stop_all()

        assert [session.state for session in manager.all()] == ["stopped", "stopped"]
        assert await house.panes() == []


@pytest.mark.contract("S8")
async def test_the_end_of_the_process_that_a_session_is_tied_to_stops_it(
    house: House, sleeper: subprocess.Popen[bytes]
) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options(tied_to=identify(sleeper.pid)))
        assert session.state == "ready"
        sleeper.kill()

        assert await session.wait_until(lambda: session.state == "stopped", limit=timedelta(seconds=10))
        await manager.stop(session.id)
        assert await house.panes() == []
        assert not manager.state.session(session.id).exists()


async def test_a_session_tied_to_a_process_that_is_gone_does_not_start(
    house: House, sleeper: subprocess.Popen[bytes]
) -> None:
    tied_to = identify(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    house.bridges_come_up = False
    async with house.server() as manager:
        with pytest.raises(SessionEnded, match="stopped"):
            await manager.start(house.options(tied_to=tied_to))

        assert await house.nothing_is_left(manager)


async def test_the_process_that_a_stopped_session_was_tied_to_is_no_longer_watched(
    house: House, sleeper: subprocess.Popen[bytes]
) -> None:
    before = pidfds()
    async with house.server() as manager:
        session = await manager.start(house.options(tied_to=identify(sleeper.pid)))
        watching = pidfds() - before
        assert watching
        await manager.stop(session.id)

        for _ in range(TURNS_OF_THE_LOOP):
            if not pidfds() & watching:
                return
            await anyio.lowlevel.checkpoint()
    raise AssertionError("the process is still watched")


def pidfds() -> set[str]:
    """The open descriptors that watch a process."""
    return {path.name for path in Path("/proc/self/fd").iterdir() if "[pidfd]" in os.path.realpath(path)}
