"""Calls to watch."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from anyio.abc import TaskGroup

from mcp_agent.calls.outcomes import Outcome
from mcp_agent.calls.watchdog import SlowCall, watch

LIMIT = timedelta(minutes=15)


@dataclass
class Watch:
    """One call of `publish` in session `s-1`, and what its listeners heard."""

    slow: list[SlowCall] = field(default_factory=list)
    late: list[Outcome[str]] = field(default_factory=list)

    async def __call__(
        self, owner: TaskGroup, work: Callable[[], Awaitable[str]], limit: timedelta = LIMIT, **options: Any
    ) -> Outcome[str]:
        names = {"call_id": "call_1", "tool": "publish", "session_id": "s-1"}
        listeners = {"on_slow": self.on_slow, "on_late": self.on_late}
        return await watch(owner, work, limit=limit, **(names | listeners | options))

    async def on_slow(self, call: SlowCall) -> None:
        self.slow.append(call)

    async def on_late(self, outcome: Outcome[str]) -> None:
        self.late.append(outcome)


@pytest.fixture
def watched() -> Watch:
    return Watch()
