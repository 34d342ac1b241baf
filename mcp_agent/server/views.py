"""What the API says about sessions, turns and calls."""

import time
from dataclasses import asdict

from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.messages import Message, MessageState
from mcp_agent.sessions.record_views import record_facts
from mcp_agent.sessions.turns import Turn

Json = dict[str, object]


def session_view(session: LiveSession) -> Json:
    """A session, without its screen. `advice` says what a person can do about a dialog."""
    record, dialog = session.record, session.status.dialog
    turn = session.turns.current
    return {
        **record_facts(record),
        "state": session.state,
        "detail": session.status.detail,
        "advice": dialog.advice if dialog else None,
        "bridge": _bridge(session),
        "idle_seconds": _idle_seconds(session),
        "current_turn": turn.id if turn else None,
        "pane": asdict(record.pane) if record.pane else None,
    }


def _bridge(session: LiveSession) -> str | None:
    """Whether its CLI has our tools; None for a session that is over."""
    if session.over is not None:
        return None
    if session.bridge_gone:
        return "gone"
    return "connected" if session.status.bridge_up else "starting"


def _idle_seconds(session: LiveSession) -> float | None:
    """How long no turn has run; None while one does, and for a session that is over."""
    if session.over is not None or session.turns.current is not None:
        return None
    last = next((turn.ended_at for turn in reversed(session.turns.all) if turn.ended_at), 0.0)
    return max(0.0, time.time() - max(last, session.record.created_at))


def turn_view(turn: Turn) -> Json:
    """A turn. `outcome` is None while it runs; `reason` says why one was interrupted, `usage` what it cost so far."""
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
        "reason": turn.reason,
        "usage": asdict(turn.usage) if turn.usage else None,
        "submission": turn.submission,
        "message_id": turn.message_id,
        "source": ended.source if ended else None,
    }


def message_view(message: Message, *, obstacle: str | None) -> Json:
    """A message. `waits_for` is None unless it is queued."""
    return {
        "id": message.id,
        "kind": message.kind,
        "state": message.state,
        "text": message.text,
        "created_at": message.created_at,
        "claimed_at": message.claimed_at,
        "turn_id": message.turn_id,
        "reason": message.reason,
        "waits_for": obstacle if message.state is MessageState.QUEUED else None,
    }
