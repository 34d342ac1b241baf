"""Who holds up the server: an async tool that blocks is named in the log, once it lets go."""

import logging
import time
from collections.abc import Coroutine, Generator
from datetime import timedelta
from types import coroutine
from typing import Any, TypeVar

STALL = timedelta(seconds=1)
"""One step of an async function that takes longer holds up everybody."""

ResultT = TypeVar("ResultT")

log = logging.getLogger(__name__)


@coroutine
def watched(work: Coroutine[Any, Any, ResultT], name: str) -> Generator[Any, Any, ResultT]:
    """The same work, step by step; a step that blocks the event loop is logged with the name."""
    step, value = work.send, None
    while True:
        started = time.monotonic()
        try:
            awaited = step(value)
        except StopIteration as end:
            result: ResultT = end.value
            return result
        finally:
            _look_at(time.monotonic() - started, name)
        try:
            step, value = work.send, (yield awaited)
        except BaseException as error:  # noqa: BLE001 - handed into the work, whose it is
            step, value = work.throw, error


def _look_at(seconds: float, name: str) -> None:
    if seconds > STALL.total_seconds():
        log.warning(
            "%s blocked the whole server for %.1f s: let it await what it waits for, or make it a plain `def`",
            name,
            seconds,
        )
