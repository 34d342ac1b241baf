"""What a record alone says of a session, in the words of the API."""

from mcp_agent.sessions.record import SessionRecord
from mcp_agent.sessions.retention.closing import keeping_facts

Json = dict[str, object]

_FACTS = (
    "id",
    "name",
    "provider",
    "provider_version",
    "working_directory",
    "native_session_id",
    "created_at",
    "idle_retention",
    "closed",
    "execution",
    "parent_session",
    "state",
    "detail",
    "resets_at",
    "advice",
    "bridge",
    "idle_seconds",
    "current_turn",
    "pane",
)


def record_facts(record: SessionRecord) -> Json:
    """What never changes while a session runs."""
    return {
        "id": record.id,
        "name": record.name,
        "provider": record.provider,
        "provider_version": record.provider_version,
        "working_directory": str(record.working_directory),
        "native_session_id": record.native_session_id,
        "created_at": record.created_at,
        "idle_retention": keeping_facts(record.keeping),
        "closed": record.closed.facts if record.closed else None,
        "execution": record.execution,
        "parent_session": record.parent_session,
    }


def unreadable_view(session_id: str) -> Json:
    """A session whose record cannot be read: only its id is known."""
    return {
        **dict.fromkeys(_FACTS),
        "id": session_id,
        "provider": "",
        "working_directory": "",
        "state": "unreadable",
        "detail": "its session.json is damaged",
    }


def recorded_view(record: SessionRecord) -> Json:
    """A session of which only the record is known: stopped, or not looked after yet, since tmux does not answer."""
    return {
        **record_facts(record),
        "state": "stopped" if record.stopped else "unknown",
        "detail": record.why_stopped or "" if record.stopped else "tmux does not answer yet",
        "resets_at": None,
        "advice": None,
        "bridge": None,
        "idle_seconds": None,
        "current_turn": None,
        "pane": None,
    }
