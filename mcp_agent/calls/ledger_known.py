"""What the one writer of a ledger knows without asking its file: of most calls there is nothing to be found there."""

import sqlite3
from dataclasses import dataclass, field
from typing import Self

from mcp_agent.calls.ledger_file import LATE

_INTENTS = "SELECT session, digest FROM events WHERE kind = 'intent'"
_SESSIONS_OF_LATE = (
    "SELECT DISTINCT session FROM events WHERE kind = 'intent'"
    f" AND call_id IN (SELECT call_id FROM events WHERE {LATE})"
)


@dataclass(slots=True, eq=False)
class Known:
    """May say that something could be there which is not, and never the reverse."""

    intended: set[int] = field(default_factory=set)
    """Of each session and digest that a call was intended with, a hash: the texts of 30 days would fill the memory."""
    late: set[str] = field(default_factory=set)
    """Sessions with a call whose outcome came late."""
    complete: bool = True
    """False: the file did not tell, so anything could be there."""

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> Self:
        """What the file says; a damaged one is met by the call that needs what is damaged."""
        try:
            intended = {hash((session, digest)) for session, digest in connection.execute(_INTENTS)}
            return cls(intended, {session for (session,) in connection.execute(_SESSIONS_OF_LATE)})
        except sqlite3.Error:
            return cls(complete=False)

    def intend(self, session: str, digest: str) -> None:
        self.intended.add(hash((session, digest)))

    def may_be_intended(self, session: str, digest: str) -> bool:
        return not self.complete or hash((session, digest)) in self.intended

    def may_be_late(self, session: str) -> bool:
        return not self.complete or session in self.late
