"""The idle clock inside a real tmux: it counts and closes with nobody there, and nothing makes it close early."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Protocol

import anyio
import libtmux
import pexpect
import psutil
import pytest

from mcp_agent.errors import PaneGone
from mcp_agent.processes import identify, is_alive
from mcp_agent.tmux.panes import TmuxTerminal
from mcp_agent.tmux.server import ServerProcess
from mcp_agent.tmux.terminal import ClockClosing, IdleClock, PaneRef, Terminal

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S6")]

TICK = timedelta(milliseconds=200)
CLOCK = IdleClock("s-1", TICK, close_after=4, abandon_after=1000)
WALL_CLOCK_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long step(void) { return access(getenv("STEPPED"), F_OK) == 0 ? 7 * 24 * 3600 : 0; }
time_t time(time_t *out) { struct timeval now; gettimeofday(&now, 0); if (out) *out = now.tv_sec; return now.tv_sec; }
int gettimeofday(struct timeval *now, void *zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = dlsym(RTLD_NEXT, "gettimeofday");
    int status = real(now, zone);
    now->tv_sec += step();
    return status;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += step();
    return status;
}
"""
"""The wall clock of a process jumps by a week as soon as the file named by STEPPED is there."""


class Actors(Protocol):
    async def launch(self, terminal: Terminal, name: str = ..., **tags: str) -> PaneRef: ...

    async def say(self, terminal: Terminal, pane: PaneRef, text: str) -> None: ...


async def until_gone(pane: PaneRef) -> None:
    """Return when the program of the pane has ended: with nothing connected to tmux that would tell."""
    with anyio.fail_after(30):
        while (found := identify(pane.pid)) and is_alive(found):  # noqa: ASYNC110 -- no child of ours
            await anyio.sleep(0.02)


async def ticks_of(terminal: Terminal, pane: PaneRef) -> int | None:
    found = await terminal.exit_of(pane)
    assert found is not None
    return found.ticks


async def until_ticks(terminal: Terminal, pane: PaneRef, ticks: int) -> None:
    with anyio.fail_after(30):
        while (await ticks_of(terminal, pane) or 0) < ticks:  # noqa: ASYNC110 -- tmux tells nobody of a tick
            await anyio.sleep(0.02)


async def some_ticks(terminal: Terminal, pane: PaneRef, actors: Actors) -> None:
    """Return when a clock beside this one has ticked more often than this one may."""
    other = await actors.launch(terminal, "other")
    await terminal.set_clock(other, replace(CLOCK, name="other", close_after=1000))
    await until_ticks(terminal, other, CLOCK.close_after + 3)
    await terminal.close(other)


async def test_a_pane_is_closed_with_nothing_connected_and_the_next_to_connect_is_told_once(
    socket: Path, actors: Actors
) -> None:
    async with TmuxTerminal.open(socket) as terminal:
        pane = await actors.launch(terminal)
        await terminal.set_clock(pane, CLOCK)
    await until_gone(pane)

    async with TmuxTerminal.open(socket) as terminal:
        assert await terminal.panes() == []
        closing = await terminal.take_closing("s-1")
        assert closing is not None
        assert (closing.quiet_ticks, closing.interval_seconds) == (CLOCK.close_after, TICK.total_seconds())
        assert await terminal.take_closing("s-1") is None


async def test_the_clock_goes_on_whichever_client_it_was_tied_to_leaves(socket: Path, actors: Actors) -> None:
    async with TmuxTerminal.open(socket) as terminal:
        pane, other = await actors.launch(terminal), await actors.launch(terminal, "other")
        async with attached(socket, other):
            with anyio.fail_after(30):
                while not (found := await terminal.exit_of(other)) or not found.attached:  # noqa: ASYNC110
                    await anyio.sleep(0.02)
            await terminal.set_clock(pane, CLOCK)
    await until_gone(pane)


async def test_what_runs_after_a_closing_gets_its_words_as_they_are(
    terminal: TmuxTerminal, actors: Actors, short_tmp: Path
) -> None:
    pane = await actors.launch(terminal)
    odd = "a b;'\"\\$#{pane_id} #[x] #S %H\n~ü"
    script = 'printf %s "$1" > "$2.new"; mv "$2.new" "$2"; echo seen by nobody; exit 3'
    then = ("/bin/sh", "-c", script, "sh", odd, str(short_tmp / "word"))
    await terminal.set_clock(pane, replace(CLOCK, then=then))
    witness = await actors.launch(terminal, "witness")
    with anyio.fail_after(30):
        while not (short_tmp / "word").exists():  # noqa: ASYNC110 -- another process writes the file
            await anyio.sleep(0.02)

    assert (short_tmp / "word").read_text() == odd
    assert not any("seen by" in line or "returned" in line for line in (await terminal.capture(witness)).lines)


async def test_output_alone_keeps_a_pane_and_its_ticks_go_on(terminal: TmuxTerminal, actors: Actors) -> None:
    pane = await terminal.spawn(
        name="chatty",
        argv=["/bin/sh", "-c", "while :; do echo word; sleep 0.3; done"],
        cwd=Path("/"),
        environment={},
        tags={"session": "s-1"},
    )
    # tmux notes output by the second, so quiet for less than that cannot be told.
    slow = replace(CLOCK, interval=timedelta(seconds=0.5), close_after=4)
    await terminal.set_clock(pane, slow)
    await until_ticks(terminal, pane, slow.close_after + 3)

    assert await terminal.exit_of(pane) is not None


async def test_a_held_clock_closes_nothing_until_it_is_abandoned(terminal: TmuxTerminal, actors: Actors) -> None:
    pane = await actors.launch(terminal)
    await terminal.set_clock(pane, replace(CLOCK, held=True, abandon_after=CLOCK.close_after + 12))
    await some_ticks(terminal, pane, actors)
    assert await ticks_of(terminal, pane) == 0
    await until_gone(pane)

    closing = await terminal.take_closing("s-1")
    assert closing == ClockClosing(0, CLOCK.close_after + 12, TICK.total_seconds())


async def test_a_clock_that_is_set_again_begins_anew_and_never_ticks_twice_as_fast(
    terminal: TmuxTerminal, actors: Actors
) -> None:
    pane, other = await actors.launch(terminal), await actors.launch(terminal, "other")
    await terminal.set_clock(other, replace(CLOCK, name="other", close_after=1000))
    for _ in range(20):
        await terminal.set_clock(pane, replace(CLOCK, close_after=1000))
    before = await ticks_of(terminal, other) or 0
    await until_ticks(terminal, other, before + 5)

    assert 3 <= (await ticks_of(terminal, pane) or 0) <= 6


async def test_clients_that_come_and_go_make_no_clock_tick_faster(
    terminal: TmuxTerminal, actors: Actors, socket: Path
) -> None:
    pane = await actors.launch(terminal)
    await terminal.set_clock(pane, replace(CLOCK, close_after=1000))
    for _ in range(5):
        async with TmuxTerminal.open(socket):
            pass
    fresh = await actors.launch(terminal, "fresh")
    await terminal.set_clock(fresh, replace(CLOCK, name="fresh", close_after=1000))
    before = await ticks_of(terminal, pane) or 0
    await until_ticks(terminal, fresh, 5)

    assert 3 <= (await ticks_of(terminal, pane) or 0) - before <= 7


async def test_neither_ticks_nor_settings_cost_tmux_any_memory(
    terminal: TmuxTerminal, actors: Actors, identity: Callable[[], ServerProcess]
) -> None:
    panes = [await actors.launch(terminal, f"s-{number}") for number in range(4)]
    fast = replace(CLOCK, interval=timedelta(milliseconds=10), close_after=10**6, abandon_after=10**6)

    async def use(times: int) -> None:
        for _ in range(times):
            for number, pane in enumerate(panes):
                await terminal.set_clock(pane, replace(fast, name=f"s-{number}"))
        await until_ticks(terminal, panes[0], 50)

    await use(10)
    tmux = psutil.Process(identity().pid)
    before = tmux.memory_info().rss
    await use(50)
    assert tmux.memory_info().rss - before < 500_000


async def test_a_clock_that_is_taken_away_closes_nothing(terminal: TmuxTerminal, actors: Actors) -> None:
    pane = await actors.launch(terminal)
    await terminal.set_clock(pane, CLOCK)
    await terminal.set_clock(pane, None)
    await some_ticks(terminal, pane, actors)

    assert await ticks_of(terminal, pane) is None


async def test_the_clock_ends_with_its_pane_and_the_hub_lives_on(terminal: TmuxTerminal, actors: Actors) -> None:
    pane, other = await actors.launch(terminal, "one"), await actors.launch(terminal, "other")
    await terminal.set_clock(pane, CLOCK)
    await terminal.close(pane)
    await some_ticks(terminal, pane, actors)

    assert await terminal.take_closing("s-1") is None
    assert [found.pane for found in await terminal.panes()] == [other]
    with pytest.raises(PaneGone):
        await terminal.set_clock(pane, CLOCK)


@pytest.mark.contract("S8")
async def test_a_pane_whose_program_died_is_closed_too(terminal: TmuxTerminal, actors: Actors) -> None:
    pane = await actors.launch(terminal)
    async with terminal.watch(pane) as events:
        await actors.say(terminal, pane, "exit 3")
        with anyio.fail_after(20):
            async for _ in events:
                pass
    await terminal.set_clock(pane, CLOCK)
    with anyio.fail_after(30):
        while await terminal.exit_of(pane) is not None:  # noqa: ASYNC110 -- nobody watches a dead pane
            await anyio.sleep(0.02)
    assert await terminal.take_closing("s-1") is not None


async def test_an_attached_client_keeps_the_pane_and_the_clock_begins_anew_when_it_leaves(
    terminal: TmuxTerminal, actors: Actors, socket: Path
) -> None:
    pane = await actors.launch(terminal)
    await terminal.set_clock(pane, replace(CLOCK, close_after=1000))
    await until_ticks(terminal, pane, 3)
    async with attached(socket, pane):
        with anyio.fail_after(30):
            while not (found := await terminal.exit_of(pane)) or not found.attached or found.ticks:  # noqa: ASYNC110
                await anyio.sleep(0.02)
        await terminal.set_clock(pane, CLOCK)
        await some_ticks(terminal, pane, actors)
        assert await ticks_of(terminal, pane) == 0
    await until_gone(pane)


@asynccontextmanager
async def attached(socket: Path, pane: PaneRef) -> AsyncIterator[None]:
    """A person's own client."""
    arguments = ["-u", "-S", str(socket), "attach", "-t", pane.tmux_session_id]
    environment = {**os.environ, "TERM": "xterm"}
    client = await anyio.to_thread.run_sync(lambda: pexpect.spawn("tmux", arguments, env=environment))
    try:
        yield
    finally:
        await anyio.to_thread.run_sync(lambda: client.close(force=True))


async def test_a_tmux_that_stood_still_counts_that_time_as_one_tick_at_most(
    terminal: TmuxTerminal, actors: Actors, identity: Callable[[], ServerProcess]
) -> None:
    pane = await actors.launch(terminal)
    await terminal.set_clock(pane, replace(CLOCK, close_after=1000))
    await until_ticks(terminal, pane, 1)
    before = await ticks_of(terminal, pane) or 0
    stopped = ServerProcess(identity().pid, identity().started)
    stopped.signal(signal.SIGSTOP)
    try:
        await anyio.sleep(TICK.total_seconds() * 8)
    finally:
        stopped.signal(signal.SIGCONT)

    assert (await ticks_of(terminal, pane) or 0) <= before + 2


@pytest.fixture
def stepped(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file: once it is made, the wall clock of a tmux that is started here has jumped by a week."""
    if not (compiler := shutil.which("cc")):
        pytest.skip("there is no C compiler to build a wall clock of its own with")
    source, library, file = short_tmp / "wall.c", short_tmp / "wall.so", short_tmp / "stepped"
    source.write_text(WALL_CLOCK_SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    program = short_tmp / "bin" / "tmux"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexport LD_PRELOAD={library} STEPPED={file}\nexec {shutil.which("tmux")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return file


async def test_a_step_of_the_wall_clock_closes_nothing(
    stepped: Path, socket: Path, actors: Actors, server: libtmux.Server
) -> None:
    async with TmuxTerminal.open(socket) as terminal:
        pane = await actors.launch(terminal)
        await terminal.set_clock(pane, replace(CLOCK, close_after=50, abandon_after=60))
        await until_ticks(terminal, pane, 2)
        stepped.touch()
        before = await ticks_of(terminal, pane) or 0
        await until_ticks(terminal, pane, before + 3)
        later = await actors.launch(terminal, "later")
        shown = await anyio.to_thread.run_sync(
            lambda: server.cmd("display-message", "-p", "-t", later.pane_id, "#{window_activity}").stdout
        )
        assert int(shown[0]) > time.time() + 6 * 24 * 3600
        found = await terminal.exit_of(pane)
        assert found is not None
        assert found.ticks is not None
        assert found.ticks < 20


async def test_only_a_clock_that_counts_needs_a_timer_of_its_own(
    terminal: TmuxTerminal, actors: Actors, server: libtmux.Server
) -> None:
    pane = await actors.launch(terminal)
    chains = []
    for clock in (
        IdleClock("s-1", timedelta(minutes=1), close_after=4, abandon_after=1000, held=True),
        IdleClock("s-1", timedelta(minutes=1), close_after=4, abandon_after=1000),
        IdleClock("s-1", timedelta(minutes=1), close_after=4, abandon_after=1000, held=True),
        IdleClock("s-1", timedelta(minutes=2), close_after=4, abandon_after=1000, held=True),
    ):
        await terminal.set_clock(pane, clock)
        chains += server.cmd("show-options", "-pqv", "-t", pane.pane_id, "@mcp_chain").stdout
    started, counting, held, slower = chains
    assert held == counting
    assert len({started, counting, slower}) == 3
