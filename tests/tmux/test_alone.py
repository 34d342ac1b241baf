"""Nobody but us types into a pane for a moment: a person who is attached is not heard, and is heard again after."""

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
from mcp_agent.tmux.terminal import Capture, PaneRef, Terminal

pytestmark = [pytest.mark.anyio, pytest.mark.contract("I1")]


class Actors(Protocol):
    async def launch(self, terminal: Terminal, name: str = ..., **tags: str) -> PaneRef: ...

    async def until(self, terminal: Terminal, pane: PaneRef, text: str) -> Capture: ...


Attach = Callable[[PaneRef], "pexpect.spawn[str]"]


@pytest.fixture
def attach(socket: Path) -> Iterator[Attach]:
    """A person attaches to a pane and sees it."""
    people: list[pexpect.spawn[str]] = []

    def begin(pane: PaneRef) -> "pexpect.spawn[str]":
        environment = os.environ | {"TERM": "xterm-256color"}
        command = ["-u", "-S", str(socket), "attach", "-t", pane.tmux_session_id]
        people.append(pexpect.spawn("tmux", command, env=environment, dimensions=(37, 120), encoding="utf-8"))
        people[-1].expect_exact("ready")
        return people[-1]

    yield begin
    for person in people:
        person.close(force=True)


async def drain(server: libtmux.Server, person: "pexpect.spawn[str]", mark: str) -> None:
    """Return when tmux has taken all that the person typed: this key comes after it, and tmux acts on it itself."""
    person.send("\x02$")
    person.send(f"\x15{mark}\r")
    with anyio.fail_after(20):
        while mark not in server.cmd("list-sessions", "-F", "#{session_name}").stdout:  # noqa: ASYNC110 -- tmux tells nobody
            await anyio.sleep(0.01)


async def test_what_a_person_types_meanwhile_is_dropped_and_what_we_paste_and_press_is_not(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, attach: Attach
) -> None:
    pane = await actors.launch(terminal)
    async with terminal.alone(pane) as attended:
        assert not attended
    person = attach(pane)
    async with terminal.alone(pane) as attended:
        assert attended
        person.send("lost ")
        await drain(server, person, "first")
        await terminal.paste(pane, "ours")
        person.send(" lost\r")
        person.send("\x1b[200~lost, too\x1b[201~")
        await drain(server, person, "second")
        await terminal.type_text(pane, " typed;")
        await terminal.press(pane, "Enter")
    screen = await actors.until(terminal, pane, "got ours")
    assert [line for line in screen.lines if line] == ["ready", "got ours typed;"]

    person.send("mine\r")
    await actors.until(terminal, pane, "got mine")


async def test_an_error_in_between_gives_the_keyboard_back(
    terminal: TmuxTerminal, actors: Actors, attach: Attach
) -> None:
    pane = await actors.launch(terminal)
    person = attach(pane)
    with pytest.raises(LookupError):
        async with terminal.alone(pane):
            raise LookupError
    person.send("mine\r")
    await actors.until(terminal, pane, "got mine")


async def test_tmux_gives_the_keyboard_back_when_we_stop_in_between(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, attach: Attach
) -> None:
    pane = await actors.launch(terminal)
    person = attach(pane)
    await terminal.alone(pane).__aenter__()
    assert takes_no_input(server, pane)
    with anyio.fail_after(30):
        while takes_no_input(server, pane):  # noqa: ASYNC110 -- tmux tells nobody
            await anyio.sleep(0.1)
    person.send("mine\r")
    await actors.until(terminal, pane, "got mine")


async def test_whoever_comes_after_our_client_died_in_between_has_the_keyboard(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server, attach: Attach
) -> None:
    pane = await actors.launch(terminal)
    await terminal.alone(pane).__aenter__()
    clients = server.cmd("list-clients", "-F", "#{client_control_mode} #{client_pid}").stdout
    (ours,) = (pid for mode, pid in map(str.split, clients) if mode == "1")
    assert takes_no_input(server, pane)
    os.kill(int(ours), signal.SIGKILL)
    with anyio.fail_after(30):
        while takes_no_input(server, pane):  # noqa: ASYNC110 -- tmux tells nobody
            await anyio.sleep(0.1)
    person = attach(pane)
    person.send("mine\r")
    await anyio.to_thread.run_sync(person.expect_exact, "got mine")


def takes_no_input(server: libtmux.Server, pane: PaneRef) -> bool:
    return server.cmd("display-message", "-p", "-t", pane.pane_id, "#{pane_input_off}").stdout == ["1"]


async def test_a_pane_that_goes_in_between_is_no_error_of_the_end(terminal: TmuxTerminal, actors: Actors) -> None:
    pane = await actors.launch(terminal)
    async with terminal.alone(pane):
        await terminal.close(pane)
