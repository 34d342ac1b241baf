"""Starts: whatever goes wrong, everything that was begun is ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import (
    BadWorkingDirectory,
    CliNotInstalled,
    PromptReadyTimedOut,
    SessionEnded,
    TmuxUnavailable,
)
from mcp_agent.sessions.terminals import OwnedTerminal
from mcp_agent.timeouts import Policy
from mcp_agent.tmux.memory import MemoryPane

if TYPE_CHECKING:
    from tests.sessions.managed.conftest import House

pytestmark = pytest.mark.anyio


async def test_a_session_is_started_and_recorded(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())

        assert session.state == "ready"
        assert manager.get(session.id) is session
        assert await house.panes() == [session.id]
        assert f"{session.id}/bridge.json" in house.files()


@pytest.mark.parametrize("hook", ["before_spawn", "after_spawn"])
async def test_a_spawn_that_fails_leaves_nothing_whether_its_pane_came_to_be_or_not(house: House, hook: str) -> None:
    async def fail() -> None:
        raise TmuxUnavailable("no answer")

    async with house.server() as manager:
        setattr(house.terminal, hook, fail)
        with pytest.raises(TmuxUnavailable):
            await manager.start(house.options())

        assert await house.nothing_is_left(manager)


@asynccontextmanager
async def open_nothing() -> AsyncGenerator[OwnedTerminal]:
    await anyio.lowlevel.checkpoint()
    raise TmuxUnavailable("no answer")
    yield


async def test_a_terminal_that_cannot_be_opened_leaves_nothing(house: House) -> None:
    async with house.server() as manager:
        manager.terminals.open_terminal = open_nothing
        with pytest.raises(TmuxUnavailable):
            await manager.start(house.options())

        assert await house.nothing_is_left(manager)


async def test_an_adapter_that_cannot_describe_the_launch_leaves_nothing(house: House) -> None:
    house.bench.adapter.fault = LookupError("no such model")
    async with house.server() as manager:
        with pytest.raises(LookupError):
            await manager.start(house.options())

        assert await house.nothing_is_left(manager)


@pytest.mark.contract("S4")
async def test_a_cli_that_exits_during_the_start_leaves_nothing(house: House) -> None:
    def fail(pane: MemoryPane) -> None:
        pane.show("Error: not today")
        pane.exit(2)

    house.terminal.program = fail
    async with house.server() as manager:
        with pytest.raises(SessionEnded, match="not today"):
            await manager.start(house.options())

        assert await house.nothing_is_left(manager)


@pytest.mark.contract("S4")
async def test_a_prompt_that_never_shows_leaves_nothing_but_its_screen_in_the_log(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.policy = Policy.resolve({"MCP_AGENT_PROMPT_READY": "1s"})
    house.terminal.program = lambda pane: pane.show("still warming up")
    async with house.server() as manager:
        with pytest.raises(PromptReadyTimedOut) as caught:
            await manager.start(house.options())

        assert caught.value.screen == "still warming up"
        assert "still warming up" in caplog.text
        assert await house.nothing_is_left(manager)


@pytest.mark.parametrize("at", ["spawning", "spawned", "waiting"])
async def test_a_starter_that_leaves_takes_everything_back(house: House, at: str) -> None:
    reached = anyio.Event()

    async def hang() -> None:
        reached.set()
        await anyio.sleep_forever()

    house.bridges_come_up = False
    async with house.server() as manager:
        if at == "spawning":
            house.terminal.before_spawn = hang
        elif at == "spawned":
            house.terminal.after_spawn = hang
        else:
            house.terminal.on_watch = lambda _: reached.set()
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(manager.start, house.options())
                await reached.wait()
                group.cancel_scope.cancel()

        assert await house.nothing_is_left(manager)


@pytest.mark.contract("S5", "A5")
async def test_a_session_that_a_dialog_blocks_is_kept_for_a_person(house: House) -> None:
    house.terminal.program = lambda pane: pane.show("[dialog trust]", "* Yes, trust", "- No")
    async with house.server() as manager:
        session = await manager.start(house.options())

        assert session.state == "blocked"
        house.terminal.pane(session.pane).show("> ", "---")
        assert await session.wait_until(lambda: session.state == "ready", limit=timedelta(seconds=10))


async def test_a_cli_that_is_not_there_is_refused_before_anything_is_made(house: House) -> None:
    async with house.server() as manager:
        with pytest.raises(CliNotInstalled):
            await manager.start(house.options(environment={"PATH": "/nowhere"}))

        assert not house.state.root.exists()
        assert house.terminal.opened == 0


@pytest.mark.parametrize(
    ("directory", "problem"),
    [
        ("relative", "absolute"),
        ("/no/such/place", "exist"),
        (__file__, "directory"),
        ("/x\0y", "null"),
        ("/" + "x" * 300, "long"),
    ],
)
async def test_a_working_directory_that_is_none_is_refused_before_anything_is_made(
    house: House, directory: str, problem: str
) -> None:
    async with house.server() as manager:
        with pytest.raises(BadWorkingDirectory, match=problem):
            await manager.start(replace(house.options(), working_directory=Path(directory)))

        assert not house.state.root.exists()


async def test_the_version_of_the_cli_is_recorded(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        assert await session.wait_until(
            lambda: session.record.provider_version is not None, limit=timedelta(seconds=10)
        )
