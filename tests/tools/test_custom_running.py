"""Running a custom tool: its errors, its threads and its cancellation harm nobody but its own call."""

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from mcp_agent.calls.outcomes import Cancelled, Outcome, Raised
from mcp_agent.calls.watchdog import watch
from mcp_agent.tools import custom_stalls, custom_tasks, verdicts
from mcp_agent.tools.custom import CallContext, CustomTool, ToolRefused, tool
from mcp_agent.tools.custom_errors import TaskAbandoned, ThreadAbandoned, ToolBusy, ToolCrashed

pytestmark = pytest.mark.anyio

BOUND_SECONDS = 30.0


@pytest.fixture
def context(tmp_path: Path) -> CallContext:
    return CallContext("call_1", "s-1", tmp_path / "call_1", tmp_path, {}, None)


@pytest.fixture
def hung() -> Iterator[threading.Event]:
    """What functions in threads hang on, until the test is over."""
    event = threading.Event()
    yield event
    event.set()


async def run(custom: CustomTool[..., Any], context: CallContext, **arguments: object) -> str:
    with anyio.fail_after(BOUND_SECONDS):
        return (await custom.run(context, custom.validate(arguments))).text


async def watched(custom: CustomTool[..., Any], context: CallContext, **options: Any) -> Outcome[Any]:
    """The outcome of one call, in the owner's group that a server would have."""
    names = {"call_id": context.call_id, "tool": custom.name, "session_id": context.session_id}
    with anyio.fail_after(BOUND_SECONDS):
        async with anyio.create_task_group() as owner:
            return await watch(
                owner,
                lambda: custom.run(context, custom.validate({})),
                **{"limit": timedelta(minutes=15), **names, **options},
            )
    raise AssertionError("the owner's group was cancelled")


async def abandon(custom: CustomTool[..., Any], context: CallContext, started: threading.Event) -> None:
    """Cancel one call once its thread runs."""
    async with anyio.create_task_group() as group:

        async def call() -> None:
            with suppress(ThreadAbandoned):
                await run(custom, context)

        group.start_soon(call)
        await wait_for(started)
        group.cancel_scope.cancel()


async def wait_for(event: threading.Event) -> None:
    assert await anyio.to_thread.run_sync(event.wait, BOUND_SECONDS)


async def threads_ended(name: str) -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            await anyio.to_thread.run_sync(thread.join, BOUND_SECONDS)
            assert not thread.is_alive()


# --- where it runs ---------------------------------------------------------------------------------------------------


async def test_an_async_function_runs_on_the_loop_and_gets_its_context(context: CallContext) -> None:
    @tool
    async def where(call: CallContext) -> list[str]:
        await checkpoint()
        return [call.session_id, threading.current_thread().name]

    assert await run(where, context) == '["s-1", "MainThread"]'


async def test_a_plain_function_runs_in_a_thread_that_cannot_hold_up_the_servers_end(context: CallContext) -> None:
    @tool
    def where() -> list[object]:
        thread = threading.current_thread()
        return [thread.name, thread.daemon]

    assert await run(where, context) == '["where call_1", true]'


async def test_a_plain_function_that_gives_a_coroutine_is_awaited(context: CallContext) -> None:
    async def answer() -> str:
        return "awaited"

    @tool
    def wrapped() -> Awaitable[str]:
        return answer()

    assert await run(wrapped, context) == "awaited"


@pytest.mark.contract("B3")
async def test_what_a_tool_prints_is_no_part_of_its_answer(
    context: CallContext, capfd: pytest.CaptureFixture[str]
) -> None:
    @tool
    def noisy() -> str:
        print('{"jsonrpc": "2.0"}')
        return "done"

    assert await run(noisy, context) == "done"
    assert capfd.readouterr().out == '{"jsonrpc": "2.0"}\n'


# --- what it raises --------------------------------------------------------------------------------------------------

ERRORS: list[Callable[[], BaseException]] = [
    lambda: SystemExit(3),
    lambda: KeyboardInterrupt(),
    lambda: GeneratorExit(),
    lambda: asyncio.CancelledError(),
    lambda: BaseExceptionGroup("all", [KeyboardInterrupt(), ValueError("a")]),
    lambda: ExceptionGroup("all", [ValueError("a"), KeyError("b")]),
    lambda: ValueError("x" * 1_000_000),
    lambda: ValueError("\ud800"),
    lambda: Unspeakable(),
]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise LookupError


@pytest.mark.parametrize("make", ERRORS)
@pytest.mark.parametrize("kind", ["async", "thread"])
async def test_nothing_that_a_function_raises_gets_past_its_own_call(
    context: CallContext, make: Callable[[], BaseException], kind: str
) -> None:
    @tool
    async def awaited() -> None:
        raise make()

    @tool
    def threaded() -> None:
        raise make()

    outcome = await watched(awaited if kind == "async" else threaded, context)

    assert isinstance(outcome, Raised)
    assert isinstance(outcome.error, ToolCrashed)
    assert len(str(outcome.error).encode()) < 5000
    assert type(make()).__name__ in str(outcome.error)


@pytest.mark.contract("W7")
@pytest.mark.parametrize("error", [TimeoutError("30 s"), ConnectionResetError("gone"), KeyError("k"), ValueError()])
async def test_an_ordinary_error_is_handed_on_as_it_is_and_is_no_refusal(
    context: CallContext, error: Exception
) -> None:
    @tool
    def publish() -> None:
        raise error

    assert await watched(publish, context) == Raised(error)


@pytest.mark.contract("W7")
async def test_a_refusal_is_one_even_out_of_a_task_group(context: CallContext) -> None:
    async def refuse() -> None:
        raise ToolRefused("there is no draft")

    @tool
    async def publish() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(refuse)

    with pytest.raises(ToolRefused, match="there is no draft"):
        await run(publish, context)


async def test_a_refusal_that_cannot_be_written_down_stays_a_refusal(context: CallContext) -> None:
    @tool
    def publish() -> None:
        raise ToolRefused("caf\udce9")

    with pytest.raises(ToolRefused, match=r"caf\\udce9"):
        await run(publish, context)


async def test_a_stop_iteration_is_an_error_like_others(context: CallContext) -> None:
    @tool
    def first() -> int:
        return next(iter(list[int]()))

    with pytest.raises(RuntimeError, match="StopIteration"):
        await run(first, context)


async def test_a_tool_that_cancels_its_own_task_ends_itself_alone(context: CallContext) -> None:
    @tool
    async def suicidal() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await checkpoint()

    outcome = await watched(suicidal, context)

    assert isinstance(outcome, Raised)
    assert "something that the function waited for was cancelled" in str(outcome.error)


# --- cancellation and threads ----------------------------------------------------------------------------------------


async def test_cancelling_an_async_function_runs_its_clean_up_first(context: CallContext) -> None:
    events: list[str] = []
    started = anyio.Event()

    @tool
    async def silent() -> None:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            events.append("cleaned up")

    async with anyio.create_task_group() as group:
        group.start_soon(run, silent, context)
        await started.wait()
        group.cancel_scope.cancel()

    assert events == ["cleaned up"]


async def test_cancelling_a_thread_says_that_it_may_still_be_running_and_logs_its_end(
    context: CallContext, hung: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def silent() -> None:
        hung.wait()

    with caplog.at_level(logging.WARNING):
        outcome = await watched(silent, context, work_limit=timedelta(milliseconds=10))
        hung.set()
        await threads_ended("silent call_1")

    assert "the abandoned thread of silent call_1 has ended: it returned" in caplog.text
    assert isinstance(outcome, Cancelled)
    assert outcome.layer == "server_tool"
    assert isinstance(outcome.cleanup_error, ThreadAbandoned)
    assert "the thread may still be running" in outcome.text()


async def test_a_task_that_swallows_its_cancellation_is_left_behind_and_nobody_knows_what_it_will_do(
    context: CallContext, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(custom_tasks, "STOPS_WITHIN", timedelta(milliseconds=10))
    let_go, told = anyio.Event(), list[str]()

    @tool
    async def stubborn() -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                told.append("to stop")

    with caplog.at_level(logging.WARNING):
        outcome = await watched(stubborn, context, work_limit=timedelta(milliseconds=10))
        assert isinstance(outcome, Cancelled)
        assert isinstance(outcome.cleanup_error, TaskAbandoned)
        assert verdicts.observed(outcome).happened == "unknown"
        assert told == ["to stop"]
        let_go.set()
        with anyio.fail_after(BOUND_SECONDS):
            while "has ended: it returned" not in caplog.text:
                await checkpoint()


def test_an_event_loop_ends_without_a_task_that_was_left_behind() -> None:
    program = """
import anyio, asyncio
from datetime import timedelta
from mcp_agent.tools import custom_tasks

async def stubborn():
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def main():
    custom_tasks.STOPS_WITHIN = timedelta(milliseconds=10)
    with anyio.move_on_after(0.01):
        await custom_tasks.in_own_task(stubborn(), "stubborn")

try:
    anyio.run(main)
except custom_tasks.TaskAbandoned:
    print("left behind")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=BOUND_SECONDS
    )
    assert done.stdout == "left behind\n"


async def test_abandoned_threads_cannot_pile_up(context: CallContext, hung: threading.Event) -> None:
    started = threading.Event()

    def function() -> str:
        started.set()
        hung.wait()
        return "late"

    silent = CustomTool(function, name="silent", threads=2)
    for _ in range(2):
        started.clear()
        await abandon(silent, context, started)

    with pytest.raises(
        ToolBusy, match=r"2 threads that still run, 2 of them of calls that were cancelled.*not started"
    ):
        await run(silent, context)

    hung.set()
    await threads_ended("silent call_1")
    assert await run(silent, context) == "late"


async def test_hung_threads_take_nothing_from_other_tools_or_the_server(
    context: CallContext, hung: threading.Event
) -> None:
    started = threading.Event()

    @tool
    def silent() -> None:
        started.set()
        hung.wait()

    @tool
    def quick() -> str:
        return "quick"

    borrowed_before = anyio.to_thread.current_default_thread_limiter().borrowed_tokens
    await abandon(silent, context, started)

    assert await run(quick, context) == "quick"
    assert anyio.to_thread.current_default_thread_limiter().borrowed_tokens == borrowed_before


async def test_a_call_for_which_no_thread_can_be_started_is_refused(
    context: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool
    def quick() -> str:
        return "quick"

    def no_more(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_more)
        with pytest.raises(ToolRefused, match="can't start new thread; the call was not started"):
            await run(quick, context)

    assert await run(quick, context) == "quick"


async def test_many_threads_at_a_time_all_answer(context: CallContext) -> None:
    together = threading.Barrier(20)

    @tool
    def meet() -> int:
        return together.wait(BOUND_SECONDS)

    answers: list[str] = []

    async def one() -> None:
        answers.append(await run(meet, context))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(one)

    assert sorted(map(int, answers)) == list(range(20))


async def test_a_tool_that_blocks_the_loop_is_named_in_the_log(
    context: CallContext, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(custom_stalls, "STALL", timedelta(milliseconds=1))

    @tool
    async def blocking() -> str:
        time.sleep(0.002)  # noqa: ASYNC251 - that is the fault
        return "done"

    assert await run(blocking, context) == "done"
    assert "blocking, blocked the whole server for" in caplog.text
