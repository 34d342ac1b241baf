"""What the API says about sessions, turns and calls."""

import time
from dataclasses import asdict

from mcp_agent.sessions.input.messages import Message, MessageState
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record_views import record_facts
from mcp_agent.sessions.signals import SessionState
from mcp_agent.sessions.turns import Turn

Json = dict[str, object]

_IDLE = frozenset({SessionState.READY, SessionState.LIMITED})


def session_view(session: LiveSession, *, attached: bool = False) -> Json:
    """A session, without its screen. `advice` says what a person can do about a dialog.

    `resets_at`, an epoch, is when the limit of a limited one ends, where its provider says so.
    """
    record, dialog = session.record, session.status.dialog if session.over is None else None
    turn = session.turns.current
    return {
        **record_facts(record),
        "state": session.state,
        "detail": session.status.detail,
        "resets_at": _resets_at(session),
        "advice": dialog.advice if dialog else None,
        "bridge": _bridge(session),
        "idle_seconds": None if attached else _idle_seconds(session),
        "current_turn": turn.id if turn else None,
        "pane": asdict(record.pane) if record.pane else None,
    }


def stopped_view(session: LiveSession, *, cancelled_calls: int) -> Json:
    """What a stop did."""
    return {
        "session_id": session.id,
        "name": session.record.name,
        "state": session.state,
        "cancelled_calls": cancelled_calls,
    }


def _resets_at(session: LiveSession) -> float | None:
    resets_at = session.status.resets_at if session.state is SessionState.LIMITED else None
    return resets_at.timestamp() if resets_at else None


def _bridge(session: LiveSession) -> str | None:
    """Whether its CLI has our tools; None for a session that is over."""
    if session.over is not None:
        return None
    if session.bridge_gone:
        return "gone"
    return "connected" if session.status.bridge_up else "starting"


def _idle_seconds(session: LiveSession) -> float | None:
    """How long nothing has run: since its launch, its latest prompt, or the end of its latest turn.

    None for one that works, asks its user something, has not come up, or is over.
    """
    if session.turns.current is not None or session.state not in _IDLE:
        return None
    record = session.record
    told = [at for turn in session.turns.all[-1:] for at in (turn.started_at, turn.ended_at) if at is not None]
    return max(0.0, time.time() - max(record.created_at, record.launched_at, *told))


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
    """A message. `waits_for` is None unless it waits, or waited when its deadline passed."""
    return {
        "id": message.id,
        "kind": message.kind,
        "state": message.state,
        "text": message.text,
        "created_at": message.created_at,
        "claimed_at": message.claimed_at,
        "turn_id": message.turn_id,
        "reason": message.reason,
        "deadline_at": message.deadline_at,
        "waits_for": obstacle if message.state is MessageState.WAITING else message.waited_for,
    }
