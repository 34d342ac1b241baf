"""What the emulator alone is told, by variables: its model, its login, and what it should do worse."""

import json
import os
from dataclasses import dataclass
from datetime import timedelta

from adapters.scripted_agent.config import Endpoint
from e2e.cursor_emulator.places import Places

VARIABLE = "CURSOR_EMULATOR"
"""A JSON object with fields of `Settings`, times in seconds."""


@dataclass(frozen=True, slots=True)
class Settings:
    endpoint: Endpoint | None
    """None: a few built-in rules answer."""
    has_key: bool
    ceiling: timedelta
    """A call of a tool that takes longer is dropped, whatever progress it makes."""

    @classmethod
    def load(cls, *, api_key: str | None) -> "Settings":
        told = json.loads(os.environ.get(VARIABLE) or "{}")
        url, key = os.environ.get("CURSOR_EMULATOR_ENDPOINT"), os.environ.get("CURSOR_EMULATOR_KEY", "")
        has_key = bool(api_key or key or os.environ.get("CURSOR_API_KEY"))
        ceiling = timedelta(seconds=told.get("ceiling_seconds", 60))
        return cls(Endpoint(url, key) if url else None, has_key, ceiling)

    def is_logged_in(self, places: Places) -> bool:
        return self.has_key or places.login.exists()
