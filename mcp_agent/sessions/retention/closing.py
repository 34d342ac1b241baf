"""How long a session is kept, and why it was closed, in fields and in words: both are on its record."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from mcp_agent.durations import format_duration
from mcp_agent.timeouts import LAYERS, Layer

ABANDONED_AFTER = timedelta(hours=24)
"""A session that a crash of ours left marked as busy is closed when nobody has come back for this long."""


@dataclass(frozen=True, slots=True)
class Keeping:
    """How long a session is kept while it is idle, and what chose that. None as the limit: for ever."""

    limit: timedelta | None
    setting: str


@dataclass(frozen=True, slots=True)
class Closing:
    """One closing. `at` is a wall-clock epoch: when it was closed, or when that was found out."""

    limit: timedelta
    setting: str
    """What chose the limit."""
    at: float
    by: Literal["server", "tmux"]
    """`tmux` closes with no server alive."""
    elapsed_seconds: float
    abandoned: bool = False
    """It was marked as busy, and no server had looked after it for a day."""

    @property
    def short(self) -> str:
        """As it stands in parentheses behind a state."""
        if self.abandoned:
            return f"no server came back for {format_duration(ABANDONED_AFTER)}"
        return f"idle for {format_duration(self.limit)}"

    @property
    def sentence(self) -> str:
        """Who did it, by which limit, and how to have it otherwise."""
        layer, owner = Layer.IDLE_RETENTION, LAYERS[Layer.IDLE_RETENTION].owner
        return (
            f"{self.short} (layer {layer}, owner {owner}, limit {format_duration(self.limit)} by {self.setting});"
            " `mcp-agent session resume` goes on with its conversation"
        )

    @property
    def facts(self) -> dict[str, object]:
        return {
            "layer": str(Layer.IDLE_RETENTION),
            "owner": LAYERS[Layer.IDLE_RETENTION].owner,
            "setting": self.setting,
            "configured_seconds": self.limit.total_seconds(),
            "elapsed_seconds": self.elapsed_seconds,
            "at": self.at,
            "by": self.by,
            "abandoned": self.abandoned,
            "message": self.sentence,
        }


def keeping_facts(keeping: Keeping | None) -> dict[str, object] | None:
    """How long a session is kept, in the words of the API; None as long as that is not settled."""
    if keeping is None:
        return None
    seconds = None if keeping.limit is None else keeping.limit.total_seconds()
    return {"configured_seconds": seconds, "setting": keeping.setting}
