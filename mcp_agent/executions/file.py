"""The tables of executions: one row each, with what is searched for beside the facts."""

from mcp_agent.database import Database
from mcp_agent.errors import ExecutionsUnusable

EXECUTIONS = Database(
    application_id=0x6D636178,
    schema_version=1,
    schema=(
        # `secrets` is NULL once the execution has ended: nothing secret outlives it.
        "CREATE TABLE executions (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, scope TEXT NOT NULL, key TEXT,"
        " parent TEXT, call_id TEXT, state TEXT NOT NULL, delivery TEXT NOT NULL, created_at REAL NOT NULL,"
        " facts TEXT NOT NULL, secrets TEXT)",
        "CREATE UNIQUE INDEX idempotency_keys ON executions (scope, key) WHERE key IS NOT NULL",
        "CREATE INDEX of_a_parent ON executions (parent)",
        "CREATE INDEX of_a_call ON executions (call_id) WHERE call_id IS NOT NULL",
        "CREATE INDEX states ON executions (state)",
        "CREATE INDEX deliveries ON executions (delivery) WHERE delivery IN ('pending', 'claimed')",
    ),
    unusable=ExecutionsUnusable,
)

INSERT = (
    "INSERT INTO executions (id, scope, key, parent, call_id, state, delivery, created_at, facts, secrets)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
UPDATE = "UPDATE executions SET state = ?, delivery = ?, facts = ? WHERE id = ?"
FORGET_SECRETS = "UPDATE executions SET secrets = NULL WHERE id = ?"
FACTS = "SELECT id, CAST(facts AS BLOB) FROM executions WHERE id = ?"
ORDER = "SELECT seq FROM executions WHERE id = ?"
SECRETS = "SELECT secrets FROM executions WHERE id = ?"
OF_KEY = "SELECT id, CAST(facts AS BLOB) FROM executions WHERE scope = ? AND key = ?"
OF_CALL = "SELECT id, CAST(facts AS BLOB) FROM executions WHERE call_id = ?"
UNTOLD = "SELECT id, CAST(facts AS BLOB) FROM executions WHERE delivery IN ('pending', 'claimed') ORDER BY seq"
COUNT = "SELECT count(*) FROM executions WHERE state IN ('queued', 'running', 'cancelling')"
PRUNE = "DELETE FROM executions WHERE state NOT IN ('queued', 'running', 'cancelling') AND created_at < ?"
