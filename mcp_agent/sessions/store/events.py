"""What happened to sessions, one event after the other: each has a cursor that stays good over restarts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """One thing that happened. `seq` is its cursor, growing over all sessions; `at` is a wall-clock epoch."""

    seq: int
    session_id: str
    at: float
    kind: str
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events after a cursor, oldest first. `next` is the cursor to go on from."""

    events: tuple[SessionEvent, ...]
    next: int
    gap: bool
    """Events after the cursor are not kept any more: something was missed."""
    newest: int
    """The newest cursor of all sessions."""


def event_of(row: tuple[int, str, float, str, str]) -> SessionEvent:
    seq, session_id, at, kind, facts = row
    return SessionEvent(seq, session_id, at, kind, json.loads(facts))
