"""Tasks of one thread: each goes on when what it waits for has come, and none disturbs another."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from mcp_agent.bridge.loop import WRITABLE, Loop, Wait

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

pytestmark = pytest.mark.contract("B2")

LONG_SECONDS = 60.0


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def waits(wait: Wait, came: list[bool]) -> Generator[Wait, bool, None]:
    came.append((yield wait))


def test_a_task_goes_on_when_its_descriptor_is_ready(pipe: tuple[int, int]) -> None:
    came: list[bool] = []
    os.write(pipe[1], b"x")
    Loop().run(waits(Wait(pipe[0], until=time.monotonic() + LONG_SECONDS), came))
    Loop().run(waits(Wait(pipe[1], WRITABLE), came))
    assert came == [True, True]


def test_a_task_goes_on_when_its_time_has_come_and_hears_that_nothing_else_did(pipe: tuple[int, int]) -> None:
    came: list[bool] = []
    Loop().run(waits(Wait(pipe[0], until=time.monotonic() + 0.01), came))
    Loop().run(waits(Wait(until=time.monotonic() - 1), came))
    assert came == [False, False]


def test_the_others_go_on_while_one_is_run_to_its_end(pipe: tuple[int, int]) -> None:
    loop, steps = Loop(), list[str]()

    def reads() -> Generator[Wait, bool, None]:
        for _ in range(2):
            yield Wait(pipe[0])
            steps.append(os.read(pipe[0], 1).decode())

    def writes() -> Generator[Wait, bool, None]:
        for text in (b"a", b"b"):
            os.write(pipe[1], text)
            yield Wait(until=time.monotonic() + 0.001)
        steps.append("written")

    loop.start(writes())
    loop.run(reads())
    assert steps == ["a", "b"]


def test_a_stopped_task_puts_away_what_it_holds_and_is_not_gone_on_with(pipe: tuple[int, int]) -> None:
    loop, steps = Loop(), list[str]()

    def holds() -> Generator[Wait, bool, None]:
        try:
            yield Wait(pipe[0])
            steps.append("went on")
        finally:
            steps.append("put away")

    task = holds()
    loop.start(task)
    loop.stop(task)
    loop.stop(task)
    os.write(pipe[1], b"x")
    loop.run(waits(Wait(until=time.monotonic() + 0.01), []))
    assert steps == ["put away"]


def test_a_task_may_stop_another_that_is_about_to_go_on(pipe: tuple[int, int]) -> None:
    loop, came = Loop(), list[bool]()
    soon = time.monotonic() + 0.01
    other = waits(Wait(until=soon), came)

    def stops() -> Generator[Wait, bool, None]:
        yield Wait(until=soon)
        loop.stop(other)

    first = stops()
    loop.start(first)
    loop.start(other)
    loop.run(waits(Wait(until=soon + 0.01), []))
    assert came == []


def test_a_fault_in_one_task_is_told_and_harms_no_other(capfd: pytest.CaptureFixture[str]) -> None:
    loop, came = Loop(), list[bool]()

    def faulty() -> Generator[Wait, bool, None]:
        yield Wait(until=0.0)
        raise ZeroDivisionError("a fault of ours")

    loop.start(faulty())
    loop.run(waits(Wait(until=time.monotonic() + 0.01), came))
    assert came == [False]
    assert "a fault of ours" in capfd.readouterr().err
