"""What users of other programs reported of reapers; the numbers are those of the list of peers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import TmuxCommandFailed
from mcp_agent.tmux.terminal import IdleClock, PaneInfo, PaneRef

if TYPE_CHECKING:
    from tests.sessions.retention.conftest import Home

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S6")]

HOUR = timedelta(hours=1)
LIMIT = 3 * HOUR


async def test_peer_17_no_stall_timer_but_the_documented_limit_ends_a_session(home: Home) -> None:
    async with home.kept() as kept:
        kept.cli.tell(accepted="a build that says nothing")
        await kept.until(26 * HOUR)
        assert kept.alive
        kept.cli.tell(ended="completed")
        assert await kept.closes() >= 26 * HOUR + LIMIT
    assert "limit 3h by a test" in kept.closed[0][1].sentence


async def test_peer_18_a_terminal_that_does_not_answer_closes_nothing_and_is_asked_again(home: Home) -> None:
    async with home.kept() as kept:
        await kept.until(LIMIT - timedelta(minutes=5))
        home.bench.terminal.available = False
        assert kept.pane.clock
        kept.pane.clock.skip(3 * HOUR + timedelta(minutes=5))
        await kept.until(6 * HOUR)
        assert kept.alive
        home.bench.terminal.available = True
        await kept.until(6 * HOUR + timedelta(minutes=4))
        assert kept.alive
        assert await kept.closes() <= 6 * HOUR + timedelta(minutes=6)


async def test_peer_18_a_clock_that_cannot_be_set_is_set_when_it_can(home: Home) -> None:
    async with home.bench.ready() as (session, cli), anyio.create_task_group() as group:
        home.bench.terminal.available = False
        kept = home.keep(session, cli)
        group.start_soon(kept.keeper(home.state).run)
        await kept.until(HOUR)
        assert kept.pane.clock is None
        home.bench.terminal.available = True
        assert await kept.closes() >= HOUR + LIMIT
        group.cancel_scope.cancel()


async def test_peer_18_a_command_that_fails_is_no_absence(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(_pane: PaneRef, _clock: IdleClock | None = None) -> PaneInfo | None:
        await anyio.lowlevel.checkpoint()
        raise TmuxCommandFailed("list-panes", "no space for it")

    async with home.kept() as kept:
        await kept.until(HOUR)
        monkeypatch.setattr(home.bench.terminal, "exit_of", fails)
        monkeypatch.setattr(home.bench.terminal, "set_clock", fails)
        kept.pane.clock = None
        await kept.until(10 * HOUR)
        assert kept.alive
