"""Tools of the user's own: a Python function with type hints becomes a tool of every session.

    from mcp_agent.tools.custom import tool

    @tool
    def word_count(text: str) -> int:
        \"\"\"Count the words of a text.\"\"\"
        return len(text.split())

`docs/custom-tools.md` is the guide.
"""

import functools
import inspect
import logging
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Generic, ParamSpec, TypeVar, overload

from mcp_agent.timeouts import LONG_RUNNING_ABOVE
from mcp_agent.tools.custom_checks import CheckFunction, EarlierCall, run_check
from mcp_agent.tools.custom_errors import ToolRefused
from mcp_agent.tools.custom_running import is_async, run_foreign
from mcp_agent.tools.custom_schema import bad_tool, parameters_of
from mcp_agent.tools.custom_threads import THREADS_PER_TOOL, Threads
from mcp_agent.tools.results import to_result
from mcp_agent.tools.tool import CallContext, Category, ToolResult, Verdict

__all__ = ["Arguments", "CallContext", "CustomTool", "EarlierCall", "ToolRefused", "ToolResult", "Verdict", "tool"]

Arguments = Mapping[str, Any]
"""A call's keyword arguments, parsed, defaults included."""

Wait = timedelta | Callable[[Arguments], timedelta]

P = ParamSpec("P")
R = TypeVar("R")

log = logging.getLogger(__name__)


class CustomTool(Generic[P, R]):
    """A function that is a tool. Calling it calls the function, so that its own tests stay plain."""

    category: Category = "custom"

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        wait: Wait | None = None,
        long_running: bool = False,
        read_only: bool = False,
        idempotent: bool = False,
        check: CheckFunction | None = None,
        threads: int = THREADS_PER_TOOL,
    ) -> None:
        own_name: str = getattr(function, "__name__", type(function).__name__)
        self.name = name or own_name
        _refuse_unusable(self.name, function)
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._parameters = parameters_of(self.name, function)
        self._wait, self._check = wait, check
        self._threads = Threads(self.name, limit=threads)
        self._check_threads = Threads(f"the check of {self.name}", limit=threads)
        self.description: str = inspect.getdoc(function) or self.name
        self.long_running = long_running or _may_wait_long(wait)
        self.read_only = read_only
        self.idempotent = idempotent or read_only

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    @property
    def input_schema(self) -> Mapping[str, object]:
        return self._parameters.schema

    @property
    def annotations(self) -> Mapping[str, object]:
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": not self.read_only,
            "idempotentHint": self.idempotent,
            "openWorldHint": True,
        }

    def validate(self, arguments: Mapping[str, object]) -> Arguments:
        return self._parameters.validate(self.name, arguments)

    def wait_limit(self, arguments: Arguments) -> timedelta | None:
        """What the tool declares for this call; None when that raises or is no positive duration."""
        try:
            limit: object = self._wait(arguments) if callable(self._wait) else self._wait
        except Exception:  # the user's own code: a safety net that can crash its caller is none
            log.exception("%s: the declared wait raised", self.name)
            return None
        if isinstance(limit, timedelta) and limit > timedelta(0):
            return limit
        if limit is not None:
            log.warning("%s: the declared wait is no positive timedelta but a %s", self.name, type(limit).__name__)
        return None

    async def run(self, context: CallContext, arguments: Arguments) -> ToolResult:
        """Run the function. A cancellation reaches an async one; a plain one's thread is left to itself.

        Raises what the function raises, `ToolBusy` when too many of its threads run, `ThreadAbandoned` when cancelled.
        """
        given = {**arguments, **dict.fromkeys(self._parameters.context_names, context)}
        call: Callable[[], Any] = functools.partial(self._function, **given)
        value = await run_foreign(
            call, asynchronous=is_async(self._function), threads=self._threads, call_id=context.call_id
        )
        return to_result(value, context, tool=self.name)

    async def check(self, call_id: str, context: CallContext, arguments: Arguments) -> Verdict | None:
        """Whether an earlier call did its work, as far as the tool can tell; None when it has no check."""
        if self._check is None:
            return None
        return await run_check(self._check, EarlierCall(call_id, arguments, context), self._check_threads)


@overload
def tool(function: Callable[P, R], /) -> CustomTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    wait: Wait | None = None,
    long_running: bool = False,
    read_only: bool = False,
    idempotent: bool = False,
    check: CheckFunction | None = None,
) -> Callable[[Callable[P, R]], CustomTool[P, R]]: ...


def tool(function: Callable[P, R] | None = None, /, **options: Any) -> Any:
    """Make a tool of a function: its docstring describes it, its type hints say what it takes.

    `wait` is how long a call is waited for, or a function of its arguments; `read_only` and `idempotent` say that
    running it twice does no harm; `check` finds out whether an earlier call happened. Raises `BadConfiguration`.
    """

    def make(function: Callable[P, R]) -> CustomTool[P, R]:
        return CustomTool(function, **options)

    return make if function is None else make(function)


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _refuse_unusable(name: str, function: Callable[..., Any]) -> None:
    if not _NAME.fullmatch(name):
        raise bad_tool(name, "a tool's name has 1 to 64 letters, digits, `_` and `-`; say `@tool(name=...)`")
    if not callable(function) or isinstance(function, type):
        raise bad_tool(name, "only a function can be a tool")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise bad_tool(name, "a generator cannot be a tool: return the whole result")
    try:
        (inspect.getdoc(function) or "").encode()
    except UnicodeEncodeError:
        raise bad_tool(name, "its docstring is no valid text") from None


def _may_wait_long(wait: object) -> bool:
    return callable(wait) or (isinstance(wait, timedelta) and wait > LONG_RUNNING_ABOVE)
