"""One probe: what it asks, how long it may take, and what it needs."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta

from mcp_agent.adapter import Capability
from mcp_agent.scenarios.chat.chat import Chat
from mcp_agent.scenarios.chat.proving import Evidence

Asks = Callable[[Chat], Awaitable[Evidence]]


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to the session. The first line of its docstring says what a pass proves."""

    ask: Asks
    limit: timedelta
    """How long it may take, besides the silent sleep where it `sleeps`."""
    sleeps: bool = False
    needs: Capability | None = None
    """A provider that declares to lack this is not asked."""
    ends_session: bool = False
    """There is no session after it."""

    @property
    def proves(self) -> str:
        return (self.ask.__doc__ or "").strip().partition("\n")[0]

    def bound(self, sleep: timedelta) -> timedelta:
        """How long it may take with this sleep."""
        return self.limit + sleep if self.sleeps else self.limit
