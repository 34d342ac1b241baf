"""Lines to the client stay whole and in order, whichever thread writes them."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING

import pytest

from mcp_agent.bridge.stdio import Output

if TYPE_CHECKING:
    from collections.abc import Iterator

BOUND_SECONDS = 20.0

pytestmark = pytest.mark.contract("B3")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_a_short_line_waits_for_the_long_one_before_it(pipe: tuple[int, int]) -> None:
    output = Output(pipe[1], on_broken=lambda: None)
    sent = [{"number": number, "text": "x" * (100_000 if number % 2 == 0 else 1)} for number in range(100)]
    received: list[object] = []
    reader = threading.Thread(target=receive, args=(pipe[0], len(sent), received))
    reader.start()
    for message in sent:
        output.send(message)
    reader.join(BOUND_SECONDS)

    assert received == sent


def test_lines_of_many_threads_are_whole(pipe: tuple[int, int]) -> None:
    output = Output(pipe[1], on_broken=lambda: None)
    received: list[object] = []
    reader = threading.Thread(target=receive, args=(pipe[0], 400, received))
    senders = [threading.Thread(target=send_all, args=(output, name)) for name in range(4)]
    for thread in (reader, *senders):
        thread.start()
    for thread in (*senders, reader):
        thread.join(BOUND_SECONDS)

    for name in range(4):
        mine = [message for message in received if isinstance(message, dict) and message["name"] == name]
        assert [message["number"] for message in mine] == list(range(100))


def test_a_client_that_reads_nothing_blocks_no_sender_and_gets_every_line_in_the_end(pipe: tuple[int, int]) -> None:
    output = Output(pipe[1], on_broken=lambda: None)
    for number in range(2_000):
        output.send({"number": number, "text": "x" * 100})
    received: list[object] = []
    receive(pipe[0], 2_000, received)

    assert [message["number"] for message in received if isinstance(message, dict)] == list(range(2_000))


def test_a_broken_pipe_is_told_by_a_thread_of_its_own() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    told: list[threading.Thread] = []
    broken = threading.Event()

    def note() -> None:
        told.append(threading.current_thread())
        broken.set()

    Output(writing, on_broken=note).send({})
    assert broken.wait(BOUND_SECONDS)
    os.close(writing)

    assert told[0] is not threading.current_thread()


def send_all(output: Output, name: int) -> None:
    for number in range(100):
        output.send({"name": name, "number": number, "text": "x" * (number * 97 % 5_000)})


def receive(descriptor: int, count: int, received: list[object]) -> None:
    with open(descriptor, "rb", closefd=False) as stream:
        received.extend(json.loads(stream.readline()) for _ in range(count))
