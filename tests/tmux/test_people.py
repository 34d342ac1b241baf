"""What a person who is attached does beside a pane of ours is theirs, and goes with the session."""

from pathlib import Path
from typing import Protocol

import libtmux
import pytest

from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.terminal import PaneRef, Terminal

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S2")]


class Actors(Protocol):
    async def launch(self, terminal: Terminal, name: str = ..., **tags: str) -> PaneRef: ...


async def test_panes_and_windows_that_a_person_makes_are_never_taken_for_ours(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server
) -> None:
    pane = await actors.launch(terminal)
    for command in ("split-window", "new-window"):
        assert server.cmd(command, target=pane.tmux_session_id + ":").stderr == []

    assert [found.pane for found in await terminal.panes()] == [pane]


async def test_closing_a_pane_ends_all_that_a_person_opened_in_its_session_and_nothing_else(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server
) -> None:
    pane, other = await actors.launch(terminal, "one"), await actors.launch(terminal, "other")
    for found in (pane, other):
        server.cmd("new-window", target=found.tmux_session_id + ":")
    await terminal.close(pane)
    await terminal.close(pane)

    assert sorted(server.cmd("list-sessions", "-F", "#{session_id}").stdout) == ["$0", other.tmux_session_id]
    assert len(server.cmd("list-windows", "-t", other.tmux_session_id).stdout) == 2


async def test_a_new_connection_hears_our_windows_and_leaves_a_persons_alone(
    socket: Path, actors: Actors, server: libtmux.Server
) -> None:
    async with TmuxTerminal.open(socket) as terminal:
        pane = await actors.launch(terminal)
    server.cmd("new-window", target=pane.tmux_session_id + ":")
    server.cmd("unlink-window", "-t", f"=_hub:{pane.window_id}")
    async with TmuxTerminal.open(socket) as terminal:
        assert [found.pane for found in await terminal.panes()] == [pane]
        assert len(server.cmd("list-windows", "-t", "=_hub").stdout) == 2
