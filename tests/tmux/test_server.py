"""Starting, adopting, losing and ending the private server."""

import os
import signal
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import anyio
import libtmux
import psutil
import pytest

from mcp_agent.errors import TmuxUnavailable
from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.process import Tmux
from mcp_agent.tmux.server import ServerProcess, ensure_server, kill_server, record_path
from mcp_agent.tmux.terminal import Capture, Lost, PaneRef, Terminal

pytestmark = pytest.mark.anyio

Identity = Callable[[], ServerProcess]


class Actors(Protocol):
    async def launch(self, terminal: Terminal, name: str = ..., **tags: str) -> PaneRef: ...

    async def say(self, terminal: Terminal, pane: PaneRef, text: str) -> None: ...

    async def until(self, terminal: Terminal, pane: PaneRef, text: str) -> Capture: ...


async def gone(process: ServerProcess) -> None:
    with anyio.fail_after(20):
        while process.alive:  # noqa: ASYNC110 -- not our child: there is no event
            await anyio.sleep(0.01)


@pytest.mark.contract("S7", "S9")
async def test_leaving_only_detaches_and_the_next_one_adopts(socket: Path, actors: Actors, identity: Identity) -> None:
    async with TmuxTerminal.open(socket) as terminal:
        pane = await actors.launch(terminal, session="s-9")
    before = identity()
    async with TmuxTerminal.open(socket) as terminal:
        [info] = await terminal.panes()
        assert (info.pane, info.tags, info.dead) == (pane, {"session": "s-9"}, False)
        await actors.say(terminal, pane, "still here")
        await actors.until(terminal, pane, "got still here")
    assert identity() == before


@pytest.mark.contract("S8")
async def test_shutdown_leaves_no_process_and_no_socket(
    socket: Path, terminal: TmuxTerminal, actors: Actors, identity: Identity
) -> None:
    pane, server = await actors.launch(terminal), identity()
    with anyio.fail_after(20):
        async with terminal.watch(pane) as events:
            await terminal.shutdown()
            assert [event async for event in events][-1] == Lost()
    assert not server.alive
    assert not socket.exists()
    assert not record_path(socket).exists()
    await terminal.shutdown()


@pytest.mark.contract("S1")
async def test_a_new_server_starts_over_a_stale_socket(socket: Path, actors: Actors, identity: Identity) -> None:
    async with TmuxTerminal.open(socket):
        dead = identity()
    os.kill(dead.pid, signal.SIGKILL)
    await gone(dead)
    assert socket.exists()
    async with TmuxTerminal.open(socket) as terminal:
        assert await terminal.panes() == []
        await actors.launch(terminal)
    assert identity() != dead


@pytest.mark.contract("S9")
async def test_a_removed_socket_is_made_again_by_its_server_and_no_twin_starts(
    socket: Path, actors: Actors, identity: Identity
) -> None:
    async with TmuxTerminal.open(socket) as terminal:
        pane = await actors.launch(terminal)
        before = identity()
    socket.unlink()
    async with TmuxTerminal.open(socket) as terminal:
        assert [info.pane for info in await terminal.panes()] == [pane]
        socket.unlink()
        await actors.say(terminal, pane, "no socket needed")
        await actors.until(terminal, pane, "got no socket")
    assert identity() == before


@pytest.mark.contract("S1")
async def test_no_configuration_of_the_user_is_read(
    socket: Path, short_tmp: Path, actors: Actors, monkeypatch: pytest.MonkeyPatch, server: libtmux.Server
) -> None:
    (short_tmp / ".tmux.conf").write_text(
        "set -g base-index 1\nset -g pane-base-index 1\nset -g status on\nset -g default-shell /bin/false\n"
    )
    monkeypatch.setenv("HOME", str(short_tmp))
    monkeypatch.setenv("TMUX", f"{short_tmp}/other,1,0")
    async with TmuxTerminal.open(socket) as terminal:
        pane = await actors.launch(terminal)
        await actors.say(terminal, pane, "hello x")
        await actors.until(terminal, pane, "got hello")
        shown = server.cmd(
            "display-message", "-p", "-t", pane.pane_id, "#{base-index} #{status} #{history-limit}"
        ).stdout
    assert shown == ["0 off 20000"]
    assert socket.stat().st_mode & 0o077 == 0


@pytest.mark.contract("S7")
async def test_a_killed_connection_heals_and_watchers_look_again(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server
) -> None:
    pane = await actors.launch(terminal)
    for word in ("one", "two"):
        [client] = server.cmd("list-clients", "-F", "#{client_pid}").stdout
        async with terminal.watch(pane) as events:
            os.kill(int(client), signal.SIGKILL)
            with anyio.fail_after(20):
                await events.receive()
        await actors.say(terminal, pane, f"{word} x")
        await actors.until(terminal, pane, f"got {word}")


@pytest.mark.contract("S7")
async def test_a_killed_hub_is_built_again_with_every_window(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server
) -> None:
    panes = [await actors.launch(terminal) for _ in range(3)]
    async with terminal.watch(panes[0]) as events:
        server.cmd("kill-session", "-t", "=_hub")
        with anyio.fail_after(20):
            await events.receive()
    for pane in panes:
        await actors.say(terminal, pane, "linked x")
        await actors.until(terminal, pane, "got linked")
    linked = server.cmd("list-windows", "-t", "=_hub", "-F", "#{window_id}").stdout
    assert {pane.window_id for pane in panes} <= set(linked)


@pytest.mark.contract("S7")
async def test_a_killed_server_loses_every_watched_pane_and_is_not_raised_by_looking(
    terminal: TmuxTerminal, actors: Actors, identity: Identity, server: libtmux.Server
) -> None:
    first, second = await actors.launch(terminal), await actors.launch(terminal)
    killed = identity()
    with anyio.fail_after(20):
        async with terminal.watch(first) as one, terminal.watch(second) as two:
            os.kill(killed.pid, signal.SIGKILL)
            assert [event async for event in one][-1] == [event async for event in two][-1] == Lost()
    assert await terminal.panes() == []
    assert await terminal.exit_of(first) is None
    await terminal.close(second)
    assert not server.is_alive()


@pytest.mark.contract("S7")
async def test_a_hung_server_is_unavailable_and_never_absent(socket: Path, actors: Actors, identity: Identity) -> None:
    async with TmuxTerminal.open(socket, patience=timedelta(seconds=2)) as terminal:
        pane = await actors.launch(terminal)
        async with terminal.watch(pane) as events:
            await actors.until(terminal, pane, "ready")
            os.kill(identity().pid, signal.SIGSTOP)
            try:
                async with anyio.create_task_group() as tasks:
                    for ask in (terminal.exit_of(pane), terminal.capture(pane), terminal.panes()):
                        tasks.start_soon(raises_unavailable, ask)
            finally:
                os.kill(identity().pid, signal.SIGCONT)
            assert events.statistics().current_buffer_used == 0
        [info] = await terminal.panes()
        assert (info.pane, info.dead) == (pane, False)


async def raises_unavailable(asking: Awaitable[object]) -> None:
    with pytest.raises(TmuxUnavailable):
        await asking


@pytest.mark.contract("S9")
async def test_servers_started_at_once_become_one(socket: Path, server: libtmux.Server) -> None:
    tmux = Tmux.at(socket, patience=timedelta(seconds=20))
    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(ensure_server, tmux)
    serving = [
        process for process in psutil.process_iter(["cmdline"]) if str(socket) in (process.info["cmdline"] or ())
    ]
    assert [process.pid for process in serving] == [int(server.cmd("display-message", "-p", "#{pid}").stdout[0])]


async def test_a_server_can_be_started_right_after_the_last_one_was_killed(socket: Path, actors: Actors) -> None:
    for _ in range(5):
        async with TmuxTerminal.open(socket) as terminal:
            await actors.launch(terminal)
            await terminal.shutdown()
            await actors.launch(terminal)
    await kill_server(Tmux.at(socket))


@pytest.mark.contract("S9")
def test_a_process_id_that_was_used_again_is_not_the_server(short_tmp: Path) -> None:
    own = ServerProcess.of(os.getpid())
    assert own and own.alive
    assert not ServerProcess(own.pid, own.started - 1).alive
    (short_tmp / "r").write_text("{broken")
    assert ServerProcess.recorded(short_tmp / "r") is None
    assert ServerProcess.recorded(short_tmp / "none") is None
    own.record(short_tmp / "r")
    assert ServerProcess.recorded(short_tmp / "r") == own
