"""Programs that write without end, on real tmux."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import psutil
import pytest

from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.protocol import ControlParser
from mcp_agent.tmux.server import ServerProcess
from mcp_agent.tmux.terminal import Died, PaneRef

if TYPE_CHECKING:
    from tests.tmux.conftest import Actors

pytestmark = pytest.mark.anyio

FLOOD = "yes \"$(printf '\\033[31mXXXXXXXX')\""


async def flood(terminal: TmuxTerminal, directory: Path, program: str = FLOOD) -> PaneRef:
    argv = ["/bin/sh", "-c", program]
    return await terminal.spawn(name="flood", argv=argv, cwd=directory, environment={}, tags={"session": "flood"})


async def until_wrote(terminal: TmuxTerminal, pane: PaneRef, times: int) -> None:
    with anyio.fail_after(20):
        async with terminal.watch(pane) as events:
            for _ in range(times):
                await events.receive()


@pytest.mark.contract("S4")
async def test_a_flood_is_told_a_few_times_a_second_and_costs_no_memory(
    terminal: TmuxTerminal, short_tmp: Path, identity: Callable[[], ServerProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(terminal._flow, "wrote", counted(terminal._flow.wrote, told))
    pane = await flood(terminal, short_tmp)
    await until_wrote(terminal, pane, 10)
    processes = [psutil.Process(), psutil.Process(identity().pid)]
    before = [process.memory_info().rss for process in processes]
    told.clear()

    await anyio.sleep(3)

    assert 0 < sum(told) < 8 * 1024 * 1024
    grown = [process.memory_info().rss - was for process, was in zip(processes, before, strict=True)]
    assert max(grown) < 16 * 1024 * 1024


def counted(wrote: Callable[[str, int], None], sizes: list[int]) -> Callable[[str, int], None]:
    def count(pane_id: str, size: int) -> None:
        sizes.append(size)
        wrote(pane_id, size)

    return count


async def test_everything_else_is_answered_beside_a_flood(
    terminal: TmuxTerminal, short_tmp: Path, actors: Actors
) -> None:
    quiet = await actors.launch(terminal, "quiet")
    noisy = await flood(terminal, short_tmp)
    await until_wrote(terminal, noisy, 10)

    assert {found.pane for found in await terminal.panes()} == {quiet, noisy}
    await actors.say(terminal, quiet, "hello")
    assert "got hello" in "\n".join((await actors.until(terminal, quiet, "got hello")).lines)
    assert "XXXXXXXX" in (await terminal.capture(noisy)).lines


async def test_what_stands_after_a_flood_is_told(terminal: TmuxTerminal, short_tmp: Path, actors: Actors) -> None:
    pane = await flood(terminal, short_tmp, "yes filler | head -c 4000000; echo the end; exec sleep 600")

    await actors.until(terminal, pane, "the end")


async def test_a_pane_that_tmux_paused_because_we_were_slow_is_told_again(
    terminal: TmuxTerminal, actors: Actors
) -> None:
    pane = await actors.launch(terminal)
    connection = await terminal._link.connection()
    assert connection is not None
    await connection.command("refresh-client", "-A", f"{pane.pane_id}:pause")

    # tmux 3.3a tells only the pauses of its own making.
    for event in ControlParser().feed(f"%pause {pane.pane_id}\n".encode()):
        terminal._take(event)
    await actors.say(terminal, pane, "hello")
    await actors.until(terminal, pane, "got hello")
    await actors.say(terminal, pane, "again")
    await actors.until(terminal, pane, "got again")


async def test_floods_that_die_or_are_closed_while_held_back_harm_nobody(
    terminal: TmuxTerminal, short_tmp: Path, actors: Actors, identity: Callable[[], ServerProcess]
) -> None:
    server = identity()
    for _ in range(6):
        closed, dying = [await flood(terminal, short_tmp), await flood(terminal, short_tmp)]
        await until_wrote(terminal, closed, 4)
        await until_wrote(terminal, dying, 4)
        async with terminal.watch(dying) as events:
            psutil.Process(dying.pid).kill()
            with anyio.fail_after(20):
                assert Died(None, 9) in [event async for event in events]
        await terminal.close(closed)
        await terminal.close(dying)

    assert identity() == server
    assert await terminal.panes() == []
    await actors.launch(terminal)
