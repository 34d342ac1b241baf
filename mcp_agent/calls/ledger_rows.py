"""The ledger's questions to its one table."""

from dataclasses import dataclass
from functools import cache

from mcp_agent.calls.ledger_codec import decode, encode, kind_of
from mcp_agent.calls.ledger_events import Event, Intent, Recorded
from mcp_agent.calls.ledger_file import KNOWN, LATE


@dataclass(frozen=True, slots=True)
class Row:
    """One fact as it stands in the file."""

    call_id: str
    at: float
    kind: str
    facts: str
    session: str | None = None
    digest: str | None = None

    @classmethod
    def of(cls, call_id: str, event: Event, *, at: float) -> "Row":
        facts = encode(event)
        if isinstance(event, Intent):
            return cls(call_id, at, kind_of(event), facts, event.session_id, event.digest)
        return cls(call_id, at, kind_of(event), facts)

    @property
    def values(self) -> tuple[object, ...]:
        """In the order of the columns."""
        return self.call_id, self.at, self.kind, self.facts, self.session, self.digest

    def recorded(self) -> Recorded:
        return Recorded(self.at, decode(self.kind, self.facts))


@cache
def insert(count: int, *, is_intent: bool) -> str:
    """Add so many facts of one call, whose id is the last value: an intent if it has none, others if it has one."""
    facts = ", ".join(["(?, ?, ?, ?, ?, ?)"] * count)
    return (
        f"INSERT INTO events (call_id, at, kind, facts, session, digest) SELECT * FROM (VALUES {facts})"
        f" WHERE {'NOT ' * is_intent}EXISTS (SELECT 1 FROM events WHERE call_id = ? AND kind = 'intent')"
    )


SESSION = "SELECT session FROM events WHERE call_id = ? AND kind = 'intent'"
FACTS = "SELECT call_id, at, kind, facts FROM events WHERE call_id = ? ORDER BY seq"

ALL_CALLS = "SELECT call_id FROM events AS intent WHERE kind = 'intent'"
OF_SESSION = " AND session = ?"
IDENTICAL = f"{OF_SESSION} AND digest = ?"
"""The digest is of the tool's name too."""
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
