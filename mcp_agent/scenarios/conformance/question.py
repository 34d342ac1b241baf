"""One question of the suite: a small function, whose name and first line say what is asked and what that proves."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from mcp_agent.adapter import Adapter
from mcp_agent.scenarios.conformance.capabilities import Need
from mcp_agent.scenarios.conformance.case import Case
from mcp_agent.scenarios.probes import Evidence

AskT = TypeVar("AskT", bound=Callable[..., object])

Describes = Callable[[Adapter], None]
"""Raises `ProbeFailed` when an adapter does not answer as it must."""

Asks = Callable[[Case], Awaitable[Evidence]]


@dataclass(frozen=True, slots=True)
class Question(Generic[AskT]):
    """A question, and the capability without which it is not asked."""

    ask: AskT
    needs: Need | None = None

    @property
    def name(self) -> str:
        return str(getattr(self.ask, "__name__", "")).replace("_", " ")

    @property
    def proves(self) -> str:
        return (self.ask.__doc__ or "").strip().splitlines()[0]
