"""Awaiting a function that is not ours, in a task of its own: one that does not stop when it is told to is left behind.

In the task group of its call it would be told again in every turn of the event loop, and nothing could end before it.
"""

import asyncio
import logging
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any, TypeVar

import anyio
import sniffio

from mcp_agent.tools.custom_errors import TaskAbandoned

STOPS_WITHIN = timedelta(seconds=25)
"""Before whoever cancelled the call stops waiting for its clean-up."""

ResultT = TypeVar("ResultT")

log = logging.getLogger(__name__)

_left_behind: set["asyncio.Task[Any]"] = set()
"""The event loop holds its tasks weakly."""


async def in_own_task(work: Coroutine[Any, Any, ResultT], name: str) -> ResultT:
    """What the work returns or raises. A cancellation is handed on once, and its clean-up is waited for.

    Raises `TaskAbandoned` when that takes too long: the work may go on, and how it ends is logged.
    """
    if sniffio.current_async_library() != "asyncio":
        return await work  # no other library can leave a task behind
    task = asyncio.create_task(work, name=name)
    try:
        await _over(task)
    except asyncio.CancelledError:
        task.cancel()
        with anyio.move_on_after(STOPS_WITHIN.total_seconds(), shield=True):
            await _over(task)
        if not task.done():
            _leave_behind(task)
            raise TaskAbandoned(name) from None
        if task.cancelled():
            raise
    return task.result()


async def _over(task: "asyncio.Task[Any]") -> None:
    """Return when the task is done. `asyncio.wait` does the same at several times the cost."""
    over = asyncio.get_running_loop().create_future()

    def tell(_: object) -> None:
        if not over.done():
            over.set_result(None)

    task.add_done_callback(tell)
    try:
        await over
    finally:
        task.remove_done_callback(tell)


def _leave_behind(task: "asyncio.Task[ResultT]") -> None:
    """Let the event loop end without it: closing a loop waits for every task that is registered."""
    _left_behind.add(task)
    asyncio._unregister_task(task)  # documented as "Extending asyncio", since Python 3.12
    task.add_done_callback(_ended)


def _ended(task: "asyncio.Task[Any]") -> None:
    _left_behind.discard(task)
    error = None if task.cancelled() else task.exception()
    ending = "it was cancelled" if task.cancelled() else "it returned" if error is None else f"it raised {error!r:.200}"
    log.warning("the abandoned task of %s has ended: %s", task.get_name(), ending)
