"""One typist at a time: our processes, and people who are attached."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.errors import KeyboardTaken, SendRefused
from mcp_agent.sessions.input.interrupting import interrupt
from mcp_agent.sessions.input.sending import send
from mcp_agent.tmux.memory import Input, Pasted, Pressed, Typed

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_agent.tmux.terminal import PaneRef
    from tests.sessions.conftest import Bench

pytestmark = [pytest.mark.anyio, pytest.mark.contract("I1")]

HOLD = "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], 0), fcntl.LOCK_EX); print(flush=True); input()"


@contextmanager
def another(directory: Path) -> Iterator[None]:
    """Somebody else has the keyboard."""
    descriptor = os.open(directory, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)


@contextmanager
def process_that_holds(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-c", HOLD, str(directory)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield holder


async def test_a_send_waits_for_another_process_that_types(bench: Bench) -> None:
    async with bench.ready() as (session, cli), anyio.create_task_group() as group:
        with another(bench.root):
            group.start_soon(send, session, "hello")
            await anyio.sleep(20)
            assert cli.pane.inputs == []
        await anyio.sleep(1)
        assert cli.submitted == ["hello"]


@pytest.mark.parametrize("act", [lambda session: send(session, "hello"), interrupt])
async def test_another_process_that_does_not_let_go_is_a_refusal(bench: Bench, act: object) -> None:
    async with bench.ready() as (session, cli):
        cli.tell(accepted="long work")
        with another(bench.root), pytest.raises(KeyboardTaken, match="nothing was sent: try again"):
            await act(session)  # type: ignore[operator]
        assert cli.pane.inputs == []
        assert (await send(session, "hello")).outcome == "queued"


async def test_the_death_of_another_process_lets_go(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        with process_that_holds(bench.root) as holder:
            with anyio.move_on_after(10):
                await send(session, "too early")
            holder.kill()
        assert cli.pane.inputs == []
        assert (await send(session, "hello")).outcome == "delivered"


async def test_a_keyboard_that_was_waited_for_in_vain_is_left_unlocked(bench: Bench) -> None:
    async with bench.ready() as (session, _):
        with another(bench.root), anyio.move_on_after(1):
            await send(session, "hello")
        with another(bench.root):
            assert session.input_lock.statistics().locked is False


@pytest.mark.parametrize("moment", [Pasted, Pressed])
async def test_what_a_person_types_during_a_send_is_no_part_of_it(bench: Bench, moment: type[Input]) -> None:
    async with bench.ready() as (session, cli):

        def take(received: Input) -> None:
            if isinstance(received, moment):
                cli.pane.person_types("oops ")
            cli.take(received)
            if isinstance(received, moment):
                cli.pane.person_types(" oops")

        cli.pane.on_input = take
        assert (await send(session, "hello")).outcome == "delivered"
        assert cli.submitted == ["hello"]
        cli.pane.person_types("mine")
        assert cli.draft == "mine"


async def test_a_key_that_came_between_two_looks_is_a_draft_and_nothing_is_placed(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        alone = bench.terminal.alone

        def typed_first(pane: PaneRef) -> AbstractAsyncContextManager[bool]:
            cli.pane.person_types("x")
            return alone(pane)

        bench.terminal.alone = typed_first  # type: ignore[method-assign,assignment]
        with pytest.raises(SendRefused, match="draft"):
            await send(session, "hello")
        assert (cli.pane.inputs, cli.draft) == ([Typed("x")], "x")


async def test_a_text_that_was_mixed_all_the_same_is_not_submitted_and_the_answer_shows_it(bench: Bench) -> None:
    async with bench.ready() as (session, cli):

        def take(received: Input) -> None:
            cli.take(received)
            if isinstance(received, Pasted):
                cli.take(Typed(" and rm -rf"))

        cli.pane.on_input = take
        sent = await send(session, "hello")
        assert (sent.outcome, cli.submitted, cli.draft) == ("unconfirmed", [], "hello and rm -rf")
        assert "'hello and rm -rf'" in sent.reason


async def test_people_wait_a_second_at_most_for_a_cli_that_draws_nothing(bench: Bench) -> None:
    async with bench.ready() as (session, cli), anyio.create_task_group() as group:
        cli.draws_pastes = False
        group.start_soon(send, session, "hello")
        await anyio.sleep(0.9)
        assert cli.pane.held
        await anyio.sleep(0.2)
        assert not cli.pane.held
        group.cancel_scope.cancel()


async def test_the_last_keys_of_somebody_who_is_attached_are_waited_for(bench: Bench) -> None:
    async with bench.ready() as (session, cli), anyio.create_task_group() as group:
        cli.pane.attended, alone = True, bench.terminal.alone

        async def draw_late() -> None:
            await anyio.sleep(0.03)
            cli.take(Typed("x"))

        def typed_before(pane: PaneRef) -> AbstractAsyncContextManager[bool]:
            group.start_soon(draw_late)
            return alone(pane)

        bench.terminal.alone = typed_before  # type: ignore[method-assign,assignment]
        with pytest.raises(SendRefused, match="draft"):
            await send(session, "hello")
        assert cli.pastes() == []
