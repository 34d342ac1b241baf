"""A call's state as people, programs and models are told it."""

import time
from dataclasses import asdict

from mcp_agent.calls.ledger_fold import CallState


def call_facts(call: CallState, *, last_output_at: float | None = None, now: float | None = None) -> dict[str, object]:
    """What is known of one call. Times are wall-clock epochs; `why` and `happened` are None while it is waited for.

    Output is a sign of progress too.
    """
    at = time.time() if now is None else now
    limit = call.next_limit(at)
    resolution = call.resolution
    return {
        "call_id": call.call_id,
        "session_id": call.session_id,
        "tool": call.tool,
        "turn_id": call.turn_id,
        "arguments": dict(call.arguments),
        "started_at": call.started_at,
        "ended_at": call.ended_at,
        "age_seconds": round(at - call.started_at, 3),
        "last_progress_at": max((sign for sign in (call.last_progress_at, last_output_at) if sign), default=None),
        "next_limit": {"layer": limit.layer, "in_seconds": round(limit.at - at, 3)} if limit else None,
        "why_ended": call.why,
        "happened": call.happened,
        "unknown": call.is_unknown,
        "late": call.late,
        "detail": call.detail,
        "evidence": [asdict(found) for found in call.evidence],
        "resolution": asdict(resolution) if resolution else None,
        "gated_by": call.gated_by,
        "duplicate_of": list(call.duplicate_of),
        "contradictions": list(call.contradictions),
    }
