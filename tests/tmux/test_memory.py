"""The terminal in memory, in virtual time."""

from datetime import timedelta
from pathlib import Path

import anyio
import pytest
import trio.testing

from mcp_agent.errors import TmuxUnavailable
from mcp_agent.tmux.memory import Input, MemoryPane, MemoryTerminal, Pasted, Pressed
from mcp_agent.tmux.terminal import Died, Wrote

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Hours pass at once."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


async def test_a_program_that_takes_hours_is_watched_without_waiting() -> None:
    terminal = MemoryTerminal()
    pane = await terminal.spawn(name="x", argv=["x"], cwd=Path("/"), environment={}, tags={"session": "s"})

    async def work() -> None:
        await anyio.sleep(timedelta(hours=3).total_seconds())
        terminal.pane(pane).show("done", title="t")
        await anyio.sleep(timedelta(hours=3).total_seconds())
        terminal.pane(pane).exit(3)

    async with anyio.create_task_group() as tasks, terminal.watch(pane) as events:
        tasks.start_soon(work)
        assert [event async for event in events] == [Wrote(), Died(3, None)]
    assert (await terminal.capture(pane)).lines == ("done",)


async def test_inputs_are_recorded_in_order_and_handed_to_the_program() -> None:
    heard: list[Input] = []

    def program(pane: MemoryPane) -> None:
        pane.on_input = heard.append

    terminal = MemoryTerminal(program)
    pane = await terminal.spawn(name="x", argv=["x"], cwd=Path("/"), environment={"A": "b"}, tags={"session": "s"})
    await terminal.paste(pane, "Enter")
    await terminal.press(pane, "C-u", "Enter")
    assert heard == terminal.pane(pane).inputs == [Pasted("Enter"), Pressed("C-u"), Pressed("Enter")]
    assert terminal.pane(pane).environment == {"A": "b"}


async def test_an_unavailable_terminal_says_so_and_not_that_panes_are_gone() -> None:
    terminal = MemoryTerminal()
    pane = await terminal.spawn(name="x", argv=["x"], cwd=Path("/"), environment={}, tags={"session": "s"})
    terminal.available = False
    for ask in (terminal.panes(), terminal.exit_of(pane), terminal.capture(pane), terminal.press(pane, "x")):
        with pytest.raises(TmuxUnavailable):
            await ask
    terminal.available = True
    assert [info.pane for info in await terminal.panes()] == [pane]
