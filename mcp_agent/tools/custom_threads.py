"""Threads of our own for one tool: a function that hangs holds up nothing but further calls of its own tool.

They are daemon threads, so that a hung one cannot keep the server from ending, and they are counted until they really
end, so that abandoned ones cannot pile up.
"""

import contextvars
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

import anyio

from mcp_agent.tools.custom_errors import ThreadAbandoned, ToolBusy, ToolRefused

THREADS_PER_TOOL = 32
"""How many threads of one tool run at a time, abandoned ones included."""

ResultT = TypeVar("ResultT")

log = logging.getLogger(__name__)


class Threads:
    """The threads of one tool."""

    def __init__(self, tool: str, *, limit: int = THREADS_PER_TOOL) -> None:
        self._tool = tool
        self._limit = limit
        self._running: set[_Job[object]] = set()

    async def run(self, call_id: str, function: Callable[[], ResultT]) -> ResultT:
        """What the function returns or raises.

        Raises `ToolBusy` with nothing started when there are too many threads already, `ToolRefused` when this process
        can have no more. A cancellation raises
        `ThreadAbandoned`: the thread runs on, and how it ends is logged.
        """
        job = _Job(f"{self._tool} {call_id}", function)
        self._start(cast("_Job[object]", job))
        try:
            await anyio.wait_readable(job.reader)
        except anyio.get_cancelled_exc_class():
            if not job.ended:
                job.abandoned = True
                raise ThreadAbandoned(self._tool) from None
        finally:
            os.close(job.reader)
        return job.outcome()

    def _start(self, job: "_Job[object]") -> None:
        if len(self._running) >= self._limit:
            abandoned = sum(other.abandoned for other in list(self._running))
            raise ToolBusy(self._tool, running=len(self._running), abandoned=abandoned)
        self._running.add(job)
        try:
            job.start(on_end=lambda: self._running.discard(job))
        except (OSError, RuntimeError) as error:
            self._running.discard(job)
            raise ToolRefused(
                f"no thread can be started for {self._tool}: {error}; the call was not started"
            ) from error


@dataclass(slots=True, eq=False)
class _Job(Generic[ResultT]):
    """One function in one thread. Its end is a byte in a pipe: no event loop has to live for it."""

    name: str
    function: Callable[[], ResultT]
    reader: int = -1
    writer: int = -1
    ended: bool = False
    abandoned: bool = False
    results: list[ResultT] = field(default_factory=list)
    error: BaseException | None = None

    def start(self, *, on_end: Callable[[], None]) -> None:
        """Start the thread. Raises `OSError` or `RuntimeError` when this process can have no more of them."""
        self.reader, self.writer = os.pipe()
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._run, on_end), name=self.name, daemon=True)
        try:
            thread.start()
        except RuntimeError:
            os.close(self.reader)
            os.close(self.writer)
            raise

    def _run(self, on_end: Callable[[], None]) -> None:
        try:
            self.results.append(self.function())
        except BaseException as error:  # noqa: BLE001 - raised again for the caller, who judges it
            self.error = error
        self.ended = True
        on_end()
        with suppress(OSError):
            os.write(self.writer, b"\0")
        os.close(self.writer)
        if self.abandoned:
            ending = "it returned" if self.error is None else f"it raised {type(self.error).__name__}"
            log.warning("the abandoned thread of %s has ended: %s", self.name, ending)

    def outcome(self) -> ResultT:
        if self.error is not None:
            raise self.error
        return self.results[0]
