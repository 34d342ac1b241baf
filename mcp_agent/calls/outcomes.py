"""What is known of a call: the work answered, the work raised, we stopped waiting, or it was cancelled.

A wait that ended is never turned into a failure: the model reads these texts and acts on them.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

ResultT_co = TypeVar("ResultT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Answered(Generic[ResultT_co]):
    """The work answered."""

    result: ResultT_co


@dataclass(frozen=True, slots=True)
class Raised:
    """The work raised."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class StoppedWaiting:
    """The wait ended without an answer. The work goes on; its outcome is unknown."""

    call_id: str
    tool: str
    session_id: str
    layer: str
    waited_seconds: float
    limit_seconds: float
    work_limit_seconds: float | None = None
    """When the work itself will be stopped, counted from its start; None when nothing will."""

    def structured(self) -> dict[str, object]:
        return {
            "timed_out": True,
            "outcome": "unknown",
            "cancelled": False,
            "call_id": self.call_id,
            "tool": self.tool,
            "layer": self.layer,
            "waited_seconds": round(self.waited_seconds, 3),
            "limit_seconds": self.limit_seconds,
            "message": self.text(),
        }

    @property
    def message(self) -> str:
        return (
            f"This side stopped waiting for {self.tool} after {seconds_text(self.waited_seconds)}."
            " The operation was NOT cancelled: it may still be running and may still succeed."
            f"{self._work_limit_sentence()} Before doing it again, look it up with"
            f" get_tool_call(call_id={self.call_id!r}) or check for its effect, and tell the owner that its state is"
            " unknown."
        )

    def _work_limit_sentence(self) -> str:
        if self.work_limit_seconds is None:
            return ""
        return f" If it still runs {seconds_text(self.work_limit_seconds)} after its start, it will be stopped then."

    def text(self) -> str:
        """What the model reads."""
        return f"TIMEOUT: {_facts(self, 'watchdog', self.limit_seconds, self.waited_seconds)}\n{self.message}"


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The work was told to stop, and its clean-up has ended."""

    call_id: str
    tool: str
    session_id: str
    layer: str
    """`server_tool` when the limit of the work fired, `cancel` when somebody asked."""
    owner: str
    elapsed_seconds: float
    limit_seconds: float | None = None
    """None when no limit was involved."""
    cleanup_error: BaseException | None = None
    """What the work raised on its way out."""

    def structured(self) -> dict[str, object]:
        return {
            "outcome": "cancelled",
            "cancelled": True,
            "call_id": self.call_id,
            "tool": self.tool,
            "layer": self.layer,
            "elapsed_seconds": round(self.elapsed_seconds, 3),
            "limit_seconds": self.limit_seconds,
            "message": self.text(),
        }

    @property
    def message(self) -> str:
        why = "it reached the limit of the work" if self.layer == "server_tool" else _WHY_STOPPED[self.owner]
        how = "" if self.cleanup_error is None else f" Its clean-up reported: {self.cleanup_error!r}."
        return (
            f"{self.tool} was stopped because {why}.{how} What it did before that stays done: check for its effect"
            " before doing it again."
        )

    def text(self) -> str:
        """What the model reads."""
        return f"CANCELED: {_facts(self, self.owner, self.limit_seconds, self.elapsed_seconds)}\n{self.message}"


_WHY_STOPPED = {
    "caller": "its caller asked",
    "owner": "a person cancelled it",
    "session": "its session was stopped",
    "server": "its server stops",
}

Outcome = Answered[ResultT_co] | Raised | StoppedWaiting | Cancelled


def seconds_text(seconds: float) -> str:
    """A measured time as `0.04s` or `900s`: short, and never zero for something that took time."""
    return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"


def _facts(call: StoppedWaiting | Cancelled, owner: str, limit_seconds: float | None, elapsed_seconds: float) -> str:
    limit = "none" if limit_seconds is None else seconds_text(limit_seconds)
    return (
        f"layer={call.layer} owner={owner} tool={call.tool} session={call.session_id}"
        f" timeout={limit} elapsed={seconds_text(elapsed_seconds)} call_id={call.call_id}"
    )
