"""The size of a pane: its own, whoever attaches to whatever, and its own again after they left."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import anyio
import libtmux
import pexpect
import pytest

from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.terminal import PaneRef, Terminal

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S2")]

OWN = "120x36"


class Actors(Protocol):
    async def launch(self, terminal: Terminal, name: str = ..., **tags: str) -> PaneRef: ...


Attach = Callable[..., "pexpect.spawn[str]"]


@pytest.fixture
def attach(socket: Path) -> Iterator[Attach]:
    """A person attaches to a tmux session from a terminal of this size."""
    people: list[pexpect.spawn[str]] = []

    def begin(pane: PaneRef, *, columns: int = 60, rows: int = 20) -> "pexpect.spawn[str]":
        environment = os.environ | {"TERM": "xterm-256color"}
        command = ["-u", "-S", str(socket), "attach", "-t", pane.tmux_session_id]
        people.append(pexpect.spawn("tmux", command, env=environment, dimensions=(rows, columns), encoding="utf-8"))
        return people[-1]

    yield begin
    for person in people:
        person.close(force=True)


def shown(server: libtmux.Server, pane: PaneRef) -> str:
    found = server.cmd("display-message", "-p", "-t", pane.pane_id, "#{window_width}x#{window_height} #{window-size}")
    return str(found.stdout[0])


async def becomes(server: libtmux.Server, pane: PaneRef, expected: str) -> None:
    with anyio.fail_after(20):
        while shown(server, pane) != expected:  # noqa: ASYNC110 -- tmux tells nobody when it has done this
            await anyio.sleep(0.02)


LEAVING: dict[str, Callable[["pexpect.spawn[str]"], object]] = {
    "detaches": lambda person: person.send("\x02d"),
    "hangs up": lambda person: person.close(force=True),
    "is killed": lambda person: person.kill(signal.SIGKILL),
}


@pytest.mark.parametrize("way", LEAVING)
async def test_a_pane_follows_a_person_and_gets_its_size_back_when_they_leave(
    way: str, terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, attach: Attach
) -> None:
    pane = await actors.launch(terminal)
    person = attach(pane)
    await becomes(server, pane, "60x19 latest")
    LEAVING[way](person)
    await becomes(server, pane, f"{OWN} manual")


async def test_a_pane_made_beside_a_small_client_has_the_size_that_was_asked_for(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, attach: Attach, short_tmp: Path
) -> None:
    pane = await actors.launch(terminal)
    attach(pane)
    await becomes(server, pane, "60x19 latest")
    other = await terminal.spawn(
        name="other", argv=["cat"], cwd=short_tmp, environment={}, tags={"session": "other"}, size=(200, 50)
    )
    assert shown(server, other) == "200x50 manual"
    assert shown(server, pane) == "60x19 latest"


async def test_a_person_who_changes_sessions_takes_the_size_along(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, attach: Attach
) -> None:
    first, second = await actors.launch(terminal, "first"), await actors.launch(terminal, "second")
    person = attach(first)
    await becomes(server, first, "60x19 latest")
    client = next(line for line in server.cmd("list-clients", "-F", "#{client_name}").stdout if "/dev/" in line)
    server.cmd("switch-client", "-c", client, target=second.tmux_session_id)
    await becomes(server, second, "60x19 latest")
    await becomes(server, first, f"{OWN} manual")
    person.send("\x02d")
    await becomes(server, second, f"{OWN} manual")


async def test_a_pane_keeps_following_until_the_last_person_left(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, attach: Attach
) -> None:
    pane = await actors.launch(terminal)
    first = attach(pane)
    await becomes(server, pane, "60x19 latest")
    second = attach(pane, columns=100, rows=30)
    await becomes(server, pane, "100x29 latest")
    first.close(force=True)
    await becomes(server, pane, "100x29 latest")
    second.close(force=True)
    await becomes(server, pane, f"{OWN} manual")


async def test_a_person_reads_which_session_it_is_and_how_to_leave(
    terminal: TmuxTerminal, actors: Actors, attach: Attach
) -> None:
    pane = await actors.launch(terminal, session="s-1234")
    person = attach(pane, columns=100)
    person.expect("s-1234", timeout=20)
    person.expect("leave with C-b d", timeout=20)


async def test_the_size_comes_back_with_no_process_of_ours_alive(
    socket: Path, actors: Actors, server: libtmux.Server, attach: Attach
) -> None:
    async with TmuxTerminal.open(socket) as terminal:
        pane = await actors.launch(terminal)
    person = attach(pane)
    await becomes(server, pane, "60x19 latest")
    person.send("\x02d")
    await becomes(server, pane, f"{OWN} manual")


async def test_the_hub_keeps_its_size_and_shows_no_status(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, attach: Attach
) -> None:
    pane = await actors.launch(terminal)
    attach(pane)
    await becomes(server, pane, "60x19 latest")
    said = server.cmd("display-message", "-p", "-t", "=_hub:0", "#{window_width}x#{window_height} #{status}")
    assert said.stdout == [f"{OWN} off"]
