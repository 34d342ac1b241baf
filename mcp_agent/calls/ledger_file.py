"""The ledger's tables: every fact is a row; rows are added, and removed only by pruning."""

from mcp_agent.database import Database
from mcp_agent.errors import LedgerUnusable

SCHEMA_VERSION = 2
"""A new kind of fact is no reason to raise it."""

KNOWN = "kind = 'outcome' AND json_extract(facts, '$.happened') <> 'unknown'"
LATE = "kind = 'outcome' AND json_extract(facts, '$.late')"
# Queries repeat the latter to the letter: that is how SQLite finds the index.

LEDGER = Database(
    application_id=0x6D63616C,
    schema_version=SCHEMA_VERSION,
    schema=(
        # `session` and `digest` are an intent's, and NULL with other facts. Every index is paid for by every call.
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,"
        " facts TEXT NOT NULL, session TEXT, digest TEXT)",
        "CREATE INDEX facts_of_a_call ON events (call_id, kind)",
        "CREATE INDEX identical_calls ON events (session, digest) WHERE kind = 'intent'",
        f"CREATE INDEX late_outcomes ON events (call_id) WHERE {LATE}",
    ),
    unusable=LedgerUnusable,
)
