"""The ledger's questions to its one table."""

from dataclasses import dataclass

from mcp_agent.calls.ledger_codec import decode, encode, kind_of
from mcp_agent.calls.ledger_events import Event, Recorded
from mcp_agent.calls.ledger_file import DIGEST, KNOWN, LATE, SESSION, TOOL


@dataclass(frozen=True, slots=True)
class Row:
    """One fact as it stands in the file."""

    call_id: str
    at: float
    kind: str
    facts: str

    @classmethod
    def of(cls, call_id: str, event: Event, *, at: float) -> "Row":
        return cls(call_id, at, kind_of(event), encode(event))

    def recorded(self) -> Recorded:
        return Recorded(self.at, decode(self.kind, self.facts))


INSERT_INTENT = "INSERT INTO events (call_id, at, kind, facts) VALUES (?, ?, ?, ?)"
INSERT_FACT = (
    "INSERT INTO events (call_id, at, kind, facts) SELECT ?1, ?2, ?3, ?4"
    " WHERE EXISTS (SELECT 1 FROM events WHERE call_id = ?1 AND kind = 'intent')"
)
"""Adds nothing when the call has no intent."""

FACTS = "SELECT call_id, at, kind, facts FROM events WHERE call_id = ? ORDER BY seq"

ALL_CALLS = "SELECT call_id FROM events AS intent WHERE kind = 'intent'"
OF_SESSION = f" AND {SESSION} = ?"
IDENTICAL = f"{OF_SESSION} AND {TOOL} = ? AND {DIGEST} = ?"
NO_KNOWN_OUTCOME = f" AND NOT EXISTS (SELECT 1 FROM events WHERE call_id = intent.call_id AND {KNOWN})"
NOT_ANSWERED = (
    f" AND (NOT EXISTS (SELECT 1 FROM events WHERE call_id = intent.call_id AND {KNOWN})"
    f" OR EXISTS (SELECT 1 FROM events WHERE call_id = intent.call_id AND {LATE}))"
)
"""No outcome is known, or one became known when nobody waited any more."""
STILL_OPEN = " AND NOT EXISTS (SELECT 1 FROM events WHERE call_id = intent.call_id AND kind = 'wait_ended')"
NEWEST_FIRST = " ORDER BY seq DESC"

LATE_UNOFFERED = (
    f"SELECT DISTINCT call_id FROM events AS late INDEXED BY late_outcomes WHERE {LATE}"
    f" AND EXISTS (SELECT 1 FROM events WHERE call_id = late.call_id AND kind = 'intent'{OF_SESSION})"
    " AND NOT EXISTS (SELECT 1 FROM events WHERE call_id = late.call_id AND kind = 'offered') ORDER BY seq"
)
UNTOUCHED_SINCE = "SELECT call_id FROM events GROUP BY call_id HAVING max(at) < ? ORDER BY max(seq)"
DELETE = "DELETE FROM events WHERE call_id = ?"
