"""The tables of what is kept of sessions, and what is asked of them."""

from mcp_agent.database import Database
from mcp_agent.errors import StoreUnusable

STORE = Database(
    application_id=0x6D637365,
    schema_version=1,
    schema=(
        "CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, at REAL NOT NULL,"
        " kind TEXT NOT NULL, facts TEXT NOT NULL)",
        "CREATE INDEX events_of_a_session ON events (session_id, seq)",
        "CREATE TABLE floors (session_id TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID",
        "CREATE TABLE turns (turn_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, started_at REAL NOT NULL,"
        " ended_at REAL, facts TEXT NOT NULL)",
        "CREATE INDEX turns_of_a_session ON turns (session_id)",
        "CREATE TABLE progress (session_id TEXT PRIMARY KEY, facts TEXT NOT NULL)",
        "CREATE TABLE messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT NOT NULL UNIQUE,"
        " session_id TEXT NOT NULL, at REAL NOT NULL, state TEXT NOT NULL, facts TEXT NOT NULL)",
        "CREATE INDEX messages_of_a_session ON messages (session_id, seq)",
    ),
    unusable=StoreUnusable,
)

INSERT_EVENT = "INSERT INTO events (session_id, at, kind, facts) VALUES (?, ?, ?, ?)"
UPSERT_TURN = (
    "INSERT INTO turns (turn_id, session_id, started_at, ended_at, facts) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (turn_id) DO UPDATE SET ended_at = excluded.ended_at, facts = excluded.facts"
)
UPSERT_PROGRESS = (
    "INSERT INTO progress (session_id, facts) VALUES (?, ?)"
    " ON CONFLICT (session_id) DO UPDATE SET facts = excluded.facts"
)
TURNS = "SELECT facts FROM turns WHERE session_id = ? ORDER BY rowid"
PROGRESS = "SELECT facts FROM progress WHERE session_id = ?"

EVENTS = "SELECT seq, session_id, at, kind, facts FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
EVENTS_OF_SESSION = (
    "SELECT seq, session_id, at, kind, facts FROM events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?"
)
NEWEST = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0)"
FLOOR = "SELECT coalesce(max(seq), 0) FROM floors"
FLOOR_OF_SESSION = "SELECT coalesce((SELECT seq FROM floors WHERE session_id = ?), 0)"

INSERT_MESSAGE = "INSERT INTO messages (message_id, session_id, at, state, facts) VALUES (?, ?, ?, ?, ?)"
MESSAGE = "SELECT message_id, session_id, seq, at, state, facts FROM messages WHERE message_id = ?"
MESSAGES = "SELECT message_id, session_id, seq, at, state, facts FROM messages ORDER BY seq"
MESSAGES_OF_SESSION = (
    "SELECT message_id, session_id, seq, at, state, facts FROM messages WHERE session_id = ? ORDER BY seq"
)
UPDATE_MESSAGE = "UPDATE messages SET state = ?, facts = ? WHERE message_id = ?"

OLDEST_EVENTS = "SELECT seq, at FROM events ORDER BY seq LIMIT ?"
COUNT_EVENTS = "SELECT count(*) FROM events"
RAISE_FLOORS = (
    "INSERT INTO floors (session_id, seq) SELECT session_id, max(seq) FROM events WHERE seq <= ? GROUP BY session_id"
    " ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq"
)
DELETE_EVENTS = "DELETE FROM events WHERE seq <= ?"
DELETE_TURNS = "DELETE FROM turns WHERE turn_id IN (SELECT turn_id FROM turns WHERE ended_at < ? LIMIT ?)"
DELETE_MESSAGES = (
    "DELETE FROM messages WHERE seq IN"
    " (SELECT seq FROM messages WHERE at < ? AND state NOT IN ('waiting', 'sending') LIMIT ?)"
)
FORGET_SESSION = tuple(f"DELETE FROM {table} WHERE session_id = ?" for table in ("turns", "progress", "messages"))
