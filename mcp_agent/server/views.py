"""What the API says about sessions, turns and calls."""

from dataclasses import asdict

from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import SessionRecord
from mcp_agent.sessions.turns import Turn

Json = dict[str, object]


def session_view(session: LiveSession) -> Json:
    """A session, without its screen. `advice` says what a person can do about a dialog."""
    record, dialog = session.record, session.status.dialog
    turn = session.turns.current
    return {
        "id": record.id,
        "provider": record.provider,
        "provider_version": record.provider_version,
        "state": session.state,
        "detail": session.status.detail,
        "advice": dialog.advice if dialog else None,
        "working_directory": str(record.working_directory),
        "native_session_id": record.native_session_id,
        "created_at": record.created_at,
        "current_turn": turn.id if turn else None,
        "pane": asdict(record.pane) if record.pane else None,
    }


def turn_view(turn: Turn) -> Json:
    """A turn. `outcome` is None while it runs."""
    ended = turn.ended
    return {
        "id": turn.id,
        "prompt": turn.prompt,
        "live_inputs": list(turn.live_inputs),
        "started_at": turn.started_at,
        "ended_at": turn.ended_at,
        "outcome": ended.outcome if ended else None,
        "final_text": ended.final_text if ended else None,
        "error": ended.error if ended else None,
        "cause": ended.cause if ended and ended.error is not None else None,
        "source": ended.source if ended else None,
    }


def unadopted_view(record: SessionRecord) -> Json:
    """A session on record, of which tmux has not told yet whether it lives."""
    return {
        "id": record.id,
        "provider": record.provider,
        "provider_version": record.provider_version,
        "state": "unknown",
        "detail": "tmux does not answer yet",
        "advice": None,
        "working_directory": str(record.working_directory),
        "native_session_id": record.native_session_id,
        "created_at": record.created_at,
        "current_turn": None,
        "pane": None,
    }
