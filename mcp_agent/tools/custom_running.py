"""Running a function that is not ours: in a thread or on the loop, and whatever it raises harms nobody else."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import anyio

from mcp_agent.errors import ToolError
from mcp_agent.tools.custom_errors import ToolCrashed, ToolRefused
from mcp_agent.tools.custom_stalls import watched
from mcp_agent.tools.custom_tasks import in_own_task
from mcp_agent.tools.custom_threads import Threads

LONGEST_MESSAGE = 4000
"""Characters of an error's message that are passed on."""


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling the function only makes a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def run_foreign(function: Callable[[], Any], *, asynchronous: bool, threads: Threads, call_id: str) -> object:
    """What the function returns, awaited when it is to be awaited.

    Raises what it raises when that is an ordinary error, `ToolCrashed` otherwise. A cancellation stays one, but for
    work that cannot be stopped: `WorkAbandoned`.
    """
    try:
        result = function() if asynchronous else await threads.run(call_id, function)
        if inspect.iscoroutine(result):
            name = f"call {call_id}, {result.__qualname__},"
            return await in_own_task(_stepped(result, name), name)
        return await result if inspect.isawaitable(result) else result
    except anyio.get_cancelled_exc_class() as error:
        if anyio.get_current_task().has_pending_cancellation():
            raise
        # Nobody cancelled this: let out, it would pass for the end of the task group that the work runs in.
        raise ToolCrashed(f"{type(error).__name__}: something that the function waited for was cancelled") from error
    except BaseException as error:
        known = presentable(error)
        if known is error:
            raise
        raise known from error


async def _stepped(work: Coroutine[Any, Any, object], name: str) -> object:
    """An exit is an error like any other here: out of a task it would end the event loop."""
    try:
        return await watched(work, name)
    except (KeyboardInterrupt, SystemExit) as error:
        raise presentable(error) from error


def presentable(error: BaseException) -> Exception:
    """The error itself when it can be shown as it is; else one that says as much of it as can be said."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    message = message_of(error)
    if isinstance(error, Exception) and message == _plain_message(error):
        return error
    return ToolRefused(message) if isinstance(error, ToolError) else ToolCrashed(f"{type(error).__name__}: {message}")


def message_of(error: BaseException) -> str:
    """What an error says, for text that is bounded and valid; a group says what each of its errors says."""
    if isinstance(error, BaseExceptionGroup):
        message = "; ".join(f"{type(part).__name__}: {message_of(part)}" for part in error.exceptions)
    else:
        message = (_plain_message(error) or "").encode("utf-8", "backslashreplace").decode()
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]} [...]"


def _plain_message(error: BaseException) -> str | None:
    """None for an error that cannot even be written out."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error class of the user's own
        return None
