"""What a tool is: a name, what it takes, how long it is waited for, and the work itself."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, cast, runtime_checkable

from mcp_agent.calls.ledger_events import Happened, WhyEnded

Category = Literal["virtual", "custom", "mcp"]
"""`virtual`: our own; `custom`: the user's; `mcp`: of a downstream MCP server."""

Seen = Literal["happened", "did_not_happen", "cannot_tell"]

ArgumentsT = TypeVar("ArgumentsT")


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class CallContext:
    """All that a tool may know about the call it serves."""

    call_id: str
    session_id: str
    call_directory: Path
    """Ours, one per call; whoever needs it makes it, with mode 0700."""
    working_directory: Path
    """The session's, absolute."""
    environment: Mapping[str, str] = field(repr=False)
    """The session's allow-list: nothing of the server's own."""
    work_limit: timedelta | None
    """The `server_tool` layer, for work that can enforce it without the server; None means no limit."""
    wait_limit: timedelta | None = None
    """How long this call is waited for; None where nobody waits."""
    server_stops: Callable[[], bool] = _never
    """Whether a cancellation only means that the server stops: work that can outlive it is then left running."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the work answered: `text` for the model, `structured` for programs."""

    text: str
    structured: Mapping[str, object] | None = None
    happened: Happened = Happened.SUCCEEDED
    """What the work says of itself: an answer may be the news of a failure."""
    why: WhyEnded = WhyEnded.RESULT
    """Why there is nothing more to wait for."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a look at the world found of an earlier call."""

    evidence: Seen
    detail: str = ""


class Tool(Protocol[ArgumentsT]):
    """One tool. `validate` is the only way to arguments, so `wait_limit` and `run` see parsed ones."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def input_schema(self) -> Mapping[str, object]:
        """The JSON schema of the arguments object."""
        ...

    @property
    def annotations(self) -> Mapping[str, object]:
        """MCP's hints, `readOnlyHint` and its like."""
        ...

    @property
    def category(self) -> Category: ...

    @property
    def long_running(self) -> bool:
        """True when one call may take longer than the ordinary bound of the bridge."""
        ...

    @property
    def read_only(self) -> bool:
        """Running it changes nothing, so running it twice does no harm."""
        ...

    @property
    def idempotent(self) -> bool:
        """Running it twice does what running it once does."""
        ...

    def validate(self, arguments: Mapping[str, object]) -> ArgumentsT:
        """The arguments, parsed; raises BadArguments with every problem at once."""
        ...

    def wait_limit(self, arguments: ArgumentsT) -> timedelta | None:
        """How long this call is worth waiting for; None leaves it to the default."""
        ...

    async def run(self, context: CallContext, arguments: ArgumentsT) -> ToolResult:
        """Do the work. Cancelling this cancels the work; what it started is gone before it returns."""
        ...

    async def check(self, call_id: str, context: CallContext, arguments: ArgumentsT) -> Verdict | None:
        """Whether an earlier call happened; None when nothing can be asked.

        Read-only and bounded; `did_not_happen` only when it cannot any more.
        """
        ...


@runtime_checkable
class Recoverable(Protocol):
    """A tool whose work outlives the server."""

    def announce(self, context: CallContext) -> None:
        """Leave the mark by which a call that never began is told from one whose evidence is gone. Before its intent.

        Raises nothing: a mark that cannot be left makes a crash harder to explain, and no call impossible.
        """
        ...

    def withdraw(self, context: CallContext) -> None:
        """Take the mark of a call back whose intent could not be written; it raises nothing."""
        ...

    async def recover(self, context: CallContext) -> ToolResult | None:
        """Wait for work that another server began; None when its evidence is gone. Cancelling this ends the work."""
        ...


def recoverable(tool: Tool[Any]) -> Recoverable | None:
    """The tool as one whose work outlives the server; None when it is none."""
    return cast("Recoverable", tool) if _outlives_server(type(tool)) else None


@cache
def _outlives_server(kind: type[Tool[Any]]) -> bool:
    """Asked in every call, and a protocol is asked for member by member."""
    return issubclass(kind, Recoverable)


def declared_wait(tool: Tool[Any], arguments: object) -> timedelta | None:
    """The wait that a tool declares for a call; None, so the default, when the declaration is missing or nonsense."""
    try:
        limit = tool.wait_limit(arguments)
    except Exception:  # noqa: BLE001 - a custom tool's own code: a safety net that can crash its caller is none
        return None
    return limit if isinstance(limit, timedelta) and limit > timedelta(0) else None
