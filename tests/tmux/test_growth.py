"""What a session asks of tmux again and again costs tmux no memory, and comes back as it was."""

from collections.abc import Callable
from typing import Protocol

import psutil
import pytest

from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.server import ServerProcess
from mcp_agent.tmux.terminal import Capture, PaneRef, Terminal

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


async def test_screens_and_keys_leave_nothing_in_tmux(
    terminal: TmuxTerminal, actors: Actors, identity: Callable[[], ServerProcess]
) -> None:
    pane = await actors.launch(terminal)
    await actors.say(terminal, pane, "x" * 2000)
    await actors.until(terminal, pane, "got x")

    async def use(times: int) -> int:
        for _ in range(times):
            await terminal.capture(pane)
            await terminal.press(pane, "a", "BSpace")
        return int(psutil.Process(identity().pid).memory_info().rss)

    before = await use(100)
    assert await use(500) - before < 500 * 256
