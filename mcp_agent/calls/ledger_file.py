"""The ledger's tables: every fact is a row; rows are added, and removed only by pruning."""

from mcp_agent.database import Database
from mcp_agent.errors import LedgerUnusable

SCHEMA_VERSION = 1
"""A new kind of fact is no reason to raise it."""

SESSION, TOOL, DIGEST = (f"json_extract(facts, '$.{name}')" for name in ("session_id", "tool", "digest"))
KNOWN = "kind = 'outcome' AND json_extract(facts, '$.happened') <> 'unknown'"
LATE = "kind = 'outcome' AND json_extract(facts, '$.late')"
# Queries repeat these expressions to the letter: that is how SQLite finds the index.

LEDGER = Database(
    application_id=0x6D63616C,
    schema_version=SCHEMA_VERSION,
    schema=(
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,"
        " facts TEXT NOT NULL)",
        "CREATE INDEX facts_of_a_call ON events (call_id)",
        "CREATE UNIQUE INDEX one_intent ON events (call_id) WHERE kind = 'intent'",
        f"CREATE INDEX identical_calls ON events ({SESSION}, {TOOL}, {DIGEST}) WHERE kind = 'intent'",
        "CREATE INDEX ended_waits ON events (call_id) WHERE kind = 'wait_ended'",
        f"CREATE INDEX known_outcomes ON events (call_id) WHERE {KNOWN}",
        f"CREATE INDEX late_outcomes ON events (call_id) WHERE {LATE}",
    ),
    unusable=LedgerUnusable,
)
