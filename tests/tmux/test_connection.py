"""One connection, many askers: order, failures, and losses."""

import os
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import anyio
import libtmux
import pytest

from mcp_agent.errors import TmuxCommandFailed, TmuxUnavailable
from mcp_agent.tmux.connection import ControlConnection
from mcp_agent.tmux.process import Tmux, scrubbed_environment
from mcp_agent.tmux.protocol import Event, Notification, Output
from mcp_agent.tmux.server import ensure_server

pytestmark = pytest.mark.anyio


@pytest.fixture
async def tmux(socket: Path) -> Tmux:
    tmux = Tmux.at(socket, patience=timedelta(seconds=20))
    await ensure_server(tmux)
    return tmux


@pytest.fixture
async def connection(tmux: Tmux) -> AsyncIterator[ControlConnection]:
    async with ControlConnection.open(tmux) as connection:
        yield connection


async def test_every_asker_gets_its_own_answer(connection: ControlConnection) -> None:
    answers: dict[int, list[str]] = {}

    async def ask(number: int) -> None:
        answers[number] = await connection.command("display-message", "-p", f"answer {number}")

    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(ask, number)
    assert answers == {number: [f"answer {number}"] for number in range(200)}


async def test_a_refused_command_raises_with_the_words_of_tmux_and_spoils_nothing(
    connection: ControlConnection,
) -> None:
    with pytest.raises(TmuxCommandFailed, match="can't find session: nope"):
        await connection.command("rename-session", "-t", "nope", "x")
    with pytest.raises(TmuxCommandFailed, match="unknown command"):
        await connection.command("no-such-command")
    assert await connection.command("display-message", "-p", "fine") == ["fine"]


async def test_a_sequence_stops_at_its_first_failure(connection: ControlConnection) -> None:
    with pytest.raises(TmuxCommandFailed):
        await connection.sequence(
            [["set-option", "-g", "@a", "1"], ["kill-session", "-t", "=nope"], ["set-option", "-g", "@a", "2"]]
        )
    assert await connection.command("show-options", "-gv", "@a") == ["1"]


async def test_commands_inside_a_condition_answer_with_their_asker(connection: ControlConnection) -> None:
    inner = 'display-message -p "one" ; display-message -p "two"'
    assert await connection.command("if-shell", "-F", "1", inner) == ["one", "two"]
    assert await connection.command("display-message", "-p", "three") == ["three"]


async def test_an_asker_that_gave_up_takes_nobody_elses_answer(connection: ControlConnection) -> None:
    for number in range(20):
        with anyio.CancelScope() as scope:
            scope.cancel()
            await connection.command("display-message", "-p", "abandoned")
        with anyio.move_on_after(0):
            await connection.command("display-message", "-p", "abandoned")
        assert await connection.command("display-message", "-p", f"{number}") == [f"{number}"]


async def test_output_of_linked_windows_is_told(tmux: Tmux) -> None:
    seen: list[Event] = []
    told = anyio.Event()

    def take(event: Event) -> None:
        seen.append(event)
        if isinstance(event, Output) and event.size >= len("from afar"):
            told.set()

    async with ControlConnection.open(tmux, on_event=take) as connection:
        [window] = await connection.command(
            "new-session", "-dPF", "#{window_id}", "-s", "other", "--", "/usr/bin/env", "cat"
        )
        await connection.command("link-window", "-d", "-s", window, "-t", "=_hub:")
        await connection.command("send-keys", "-t", window, "from afar", "Enter")
        with anyio.fail_after(20):
            await told.wait()
    assert any(isinstance(event, Notification) for event in seen)


async def test_a_lost_connection_is_no_answer_at_once(connection: ControlConnection, server: libtmux.Server) -> None:
    [client] = server.cmd("list-clients", "-F", "#{client_pid}").stdout
    os.kill(int(client), signal.SIGKILL)
    with anyio.fail_after(20):
        await connection.closed.wait()
    with pytest.raises(TmuxUnavailable):
        await connection.command("display-message", "-p", "x")


@pytest.mark.contract("S7")
async def test_a_server_that_hangs_is_no_answer_and_its_late_one_is_dropped(tmux: Tmux) -> None:
    hasty = Tmux(tmux.executable, tmux.socket, timedelta(milliseconds=300))
    async with ControlConnection.open(tmux) as patient:
        [pid] = await patient.command("display-message", "-p", "#{pid}")
        async with ControlConnection.open(hasty) as connection:
            os.kill(int(pid), signal.SIGSTOP)
            try:
                with pytest.raises(TmuxUnavailable, match=r"no answer within 0\.3 s"):
                    await connection.command("display-message", "-p", "late")
                with pytest.raises(TmuxUnavailable, match="no answer"):
                    await hasty.run("-N", "list-sessions")
            finally:
                os.kill(int(pid), signal.SIGCONT)
            # The patient connection answers only when the late answers are out.
            await patient.command("display-message", "-p", "x")
            assert await patient.command("display-message", "-p", "on time") == ["on time"]
            assert not connection.closed.is_set()


async def test_a_missing_session_or_server_is_no_answer(tmux: Tmux, short_tmp: Path) -> None:
    with pytest.raises(TmuxUnavailable, match="can't find session"):
        async with ControlConnection.open(tmux, target="nope"):
            pass
    with pytest.raises(TmuxUnavailable):
        async with ControlConnection.open(Tmux.at(short_tmp / "nobody")):
            pass


async def test_errors_and_cancellation_inside_the_connection_come_out_as_they_are(tmux: Tmux) -> None:
    with pytest.raises(KeyError):
        async with ControlConnection.open(tmux):
            raise KeyError
    with anyio.move_on_after(0.01) as scope:
        async with ControlConnection.open(tmux):
            await anyio.sleep_forever()
    assert scope.cancelled_caught


async def test_a_tmux_that_cannot_be_run_or_says_nothing_is_no_answer(short_tmp: Path) -> None:
    shim = short_tmp / "tmux"
    with pytest.raises(TmuxUnavailable):
        await Tmux(str(shim), short_tmp / "s").run("list-sessions")
    for script in ("exit 1", "exit 127", "echo 'error connecting to s (Permission denied)' >&2; exit 1"):
        shim.write_text(f"#!/bin/sh\n{script}\n")
        shim.chmod(0o700)
        with pytest.raises(TmuxUnavailable):
            await Tmux(str(shim), short_tmp / "s").run("list-sessions")


@pytest.mark.contract("A3")
def test_only_harmless_variables_pass_to_a_server() -> None:
    caller = {"PATH": "/bin", "HOME": "/h", "API_KEY": "secret", "TMUX": "x", "LANG": "C", "LC_TIME": "de", "TERM": "x"}
    assert scrubbed_environment(caller) == {
        "PATH": "/bin",
        "HOME": "/h",
        "LC_TIME": "de",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "SHELL": "/bin/sh",
    }
