"""What a session asks of tmux again and again costs tmux no memory, and comes back as it was."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
import libtmux
import psutil
import pytest

from mcp_agent.errors import TmuxCommandFailed
from mcp_agent.tmux import holding
from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.server import ServerProcess
from mcp_agent.tmux.terminal import Capture, IdleClock, PaneRef, Terminal

pytestmark = pytest.mark.anyio

WORDS = r"$HOME ${x} \033[1m \\ \n #{pane_id} ~ %end \$x"


class Actors(Protocol):
    async def launch(self, terminal: Terminal, name: str = ..., **tags: str) -> PaneRef: ...

    async def say(self, terminal: Terminal, pane: PaneRef, text: str) -> None: ...

    async def until(self, terminal: Terminal, pane: PaneRef, text: str) -> Capture: ...


async def test_a_screen_is_read_as_it_is_whatever_stands_on_it(terminal: TmuxTerminal, actors: Actors) -> None:
    pane = await actors.launch(terminal)
    await actors.say(terminal, pane, WORDS)
    assert f"got {WORDS}" in (await actors.until(terminal, pane, "got ")).lines


@pytest.fixture
def memory(identity: Callable[[], ServerProcess]) -> Callable[[], int]:
    """What the tmux server holds, in bytes."""
    return lambda: int(psutil.Process(identity().pid).memory_info().rss)


async def growth(memory: Callable[[], int], use: Callable[[], Awaitable[object]], *, times: int) -> float:
    """Bytes that each use adds, after some."""

    async def repeat(count: int) -> int:
        for _ in range(count):
            await use()
        return memory()

    before = await repeat(times // 5)
    return (await repeat(times) - before) / times


async def test_screens_and_keys_leave_nothing_in_tmux(
    terminal: TmuxTerminal, actors: Actors, memory: Callable[[], int]
) -> None:
    pane = await actors.launch(terminal)
    await actors.say(terminal, pane, "x" * 2000)
    await actors.until(terminal, pane, "got x")

    async def use() -> None:
        await terminal.capture(pane)
        await terminal.press(pane, "a", "BSpace")

    assert await growth(memory, use, times=500) < 256


async def test_pastes_leave_nothing_in_tmux(terminal: TmuxTerminal, actors: Actors, memory: Callable[[], int]) -> None:
    pane = await actors.launch(terminal)
    assert await growth(memory, partial(terminal.paste, pane, "a text"), times=500) < 128


async def test_holds_leave_nothing_in_tmux_when_their_time_is_over(
    terminal: TmuxTerminal, actors: Actors, memory: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "LONGEST_HOLD", timedelta(milliseconds=1))
    pane = await actors.launch(terminal)

    async def use() -> None:
        async with terminal.alone(pane):
            """Nothing is typed."""

    assert await growth(memory, use, times=500) < 128


async def test_a_pane_that_is_gone_leaves_little_of_its_clock_until_the_next_tick(
    terminal: TmuxTerminal, memory: Callable[[], int], short_tmp: Path
) -> None:
    clock = IdleClock("s-1", timedelta(minutes=10), close_after=4, abandon_after=1000)
    environment = {f"VARIABLE_{number}": "x" * 1000 for number in range(20)}

    async def use() -> None:
        pane = await terminal.spawn(
            name="x", argv=["cat"], cwd=short_tmp, environment=environment, tags={"session": "x"}
        )
        await terminal.set_clock(pane, clock)
        await terminal.close(pane)

    assert await growth(memory, use, times=100) < 12 * 1024


@pytest.mark.parametrize("by_hook", [True, False])
async def test_a_tmux_that_runs_no_hooks_when_told_is_pasted_to_and_held_all_the_same(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, monkeypatch: pytest.MonkeyPatch, *, by_hook: bool
) -> None:
    monkeypatch.setattr(holding, "LONGEST_HOLD", timedelta(milliseconds=200))
    pane = await actors.launch(terminal)
    connection = await terminal._reach(pane)
    assert connection.runs_hooks
    connection.runs_hooks = by_hook
    async with terminal.alone(pane):
        assert takes_input(server, pane) == ["0"]
        with anyio.fail_after(20):
            while takes_input(server, pane) != ["1"]:  # noqa: ASYNC110 -- tmux tells nobody when it has done this
                await anyio.sleep(0.02)
        await actors.say(terminal, pane, "hello")
    await actors.until(terminal, pane, "got hello")


def takes_input(server: libtmux.Server, pane: PaneRef) -> list[str]:
    return list(server.cmd("display-message", "-p", "-t", pane.pane_id, "#{?pane_input_off,0,1}").stdout)


async def test_a_text_that_somebody_took_away_from_tmux_was_certainly_not_pasted(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = await actors.launch(terminal)
    load = terminal._load

    async def load_and_lose(buffer: str, text: str) -> None:
        await load(buffer, text)
        server.cmd("delete-buffer", "-b", buffer)

    monkeypatch.setattr(terminal, "_load", load_and_lose)
    with pytest.raises(TmuxCommandFailed, match="no buffer"):
        await terminal.paste(pane, "lost")
