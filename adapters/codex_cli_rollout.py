"""What Codex's hooks and rollout say. Facts were observed on version 0.171.0.

`SessionStart` fires at the first prompt of a conversation and names its id and its rollout: the only file that is read.
`UserPromptSubmit` fires for each prompt right before the model is given it, so a prompt that was sent into a running
turn is told when its tool call is over; subagents' prompts come with an agent's id. Ends of turns stand in the rollout,
once for each, whatever its outcome; no hook tells of one that failed. Side turns, such as the one that finds a title,
are threads of their own and have other files.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from adapters.records import record_of
from mcp_agent.adapter import (
    FailureCause,
    LimitedBy,
    PromptAccepted,
    SessionIdentified,
    Signal,
    Source,
    TurnEnded,
    TurnOutcome,
    Usage,
    UsageReported,
)

_LOGIN_STATUS = frozenset({401, 403})
_CAUSES = {
    "unauthorized": FailureCause.LOGIN,
    "usage_limit_exceeded": FailureCause.LIMITED,
    "server_overloaded": FailureCause.LIMITED,
    "internal_server_error": FailureCause.LIMITED,
    "http_connection_failed": FailureCause.LIMITED,
    "response_stream_connection_failed": FailureCause.LIMITED,
    "response_stream_disconnected": FailureCause.LIMITED,
    "response_too_many_failed_attempts": FailureCause.LIMITED,
}
"""What `codex_error_info` names. A status that comes with it outranks the name."""


def read_event(event: Mapping[str, object]) -> Sequence[Signal]:
    """One hook's input. Unknown hooks and missing fields mean nothing."""
    match event:
        case {"agent_id": str()}:
            return []
        case {"hook_event_name": "SessionStart", "session_id": str(session_id)} if session_id:
            path = event.get("transcript_path")
            return [SessionIdentified(session_id, Path(path) if isinstance(path, str) and path else None)]
        case {"hook_event_name": "UserPromptSubmit", "prompt": str(prompt)} if prompt:
            return [PromptAccepted(prompt, native_turn_id=_turn_of(event))]
        case _:
            return []


def read_transcript(lines: Sequence[str]) -> Sequence[Signal]:
    """Ends of turns, limits and what answers cost. A broken line means nothing."""
    return [signal for line in lines for signal in _row(record_of(line))]


def _row(row: Mapping[str, object]) -> Iterator[Signal]:
    payload = row.get("payload")
    if not isinstance(payload, dict):
        return
    match row.get("type"), payload:
        case "event_msg", {"type": "task_complete"}:
            yield from _completion(payload)
        case "event_msg", {"type": "turn_aborted"}:
            yield TurnEnded(TurnOutcome.INTERRUPTED, source=Source.TRANSCRIPT, native_turn_id=_turn_of(payload))
        case "event_msg", {"type": "token_count", "rate_limits": dict(limits)}:
            yield from _used_up(limits)
        case "token_usage_record", {"response_id": str(response_id), "usage": dict(usage)}:
            yield UsageReported(response_id, Usage(_count(usage, "input_tokens"), _count(usage, "output_tokens")))


def _completion(payload: Mapping[str, object]) -> Iterator[Signal]:
    """A turn that failed completes, too, with an error and without a message."""
    error, said = payload.get("error"), payload.get("last_agent_message")
    text = said if isinstance(said, str) else ""
    if not isinstance(error, dict):
        yield TurnEnded(TurnOutcome.COMPLETED, text, source=Source.TRANSCRIPT, native_turn_id=_turn_of(payload))
        return
    name, status = _error_info(error.get("codex_error_info"))
    message = error.get("message") if isinstance(error.get("message"), str) else None
    if name == "usage_limit_exceeded":
        yield LimitedBy("usage", source=Source.TRANSCRIPT)
    elif status == 429:
        yield LimitedBy("rate", source=Source.TRANSCRIPT)
    yield TurnEnded(
        TurnOutcome.FAILED,
        text,
        error=message or name or "unknown error",
        cause=_cause(name, status),
        source=Source.TRANSCRIPT,
        native_turn_id=_turn_of(payload),
    )


def _cause(name: str, status: int | None) -> FailureCause:
    if status in _LOGIN_STATUS:
        return FailureCause.LOGIN
    if status is not None and status != 429 and status < 500:
        return FailureCause.OTHER
    return _CAUSES.get(name, FailureCause.OTHER)


def _error_info(info: object) -> tuple[str, int | None]:
    """A name alone, or one with the status that the model's server answered."""
    match info:
        case str(name):
            return name, None
        case dict() if len(info) == 1:
            ((name, details),) = info.items()
            status = details.get("http_status_code") if isinstance(details, dict) else None
            return str(name), status if isinstance(status, int) else None
        case _:
            return "", None


def _used_up(limits: Mapping[str, object]) -> Iterator[Signal]:
    """A turn that fails by it is told of without the time at which the limit ends: only this row has it.

    Credits go on where a plan's window ends.
    """
    resets_at, credit = _resets_at(limits), limits.get("credits")
    has_credit = isinstance(credit, dict) and bool(credit.get("has_credits") or credit.get("unlimited"))
    if isinstance(limits.get("rate_limit_reached_type"), str) or (resets_at and not has_credit):
        yield LimitedBy("usage", resets_at, Source.TRANSCRIPT)


def _resets_at(limits: Mapping[str, object]) -> datetime | None:
    """When the window that is used up begins anew; None where the provider does not say."""
    for window in (limits.get("primary"), limits.get("secondary")):
        match window:
            case {"used_percent": int() | float() as used, "resets_at": int(epoch)} if used >= 100:
                return datetime.fromtimestamp(epoch, UTC)
    return None


def _turn_of(told: Mapping[str, object]) -> str | None:
    turn_id = told.get("turn_id")
    return turn_id if isinstance(turn_id, str) and turn_id else None


def _count(usage: Mapping[str, object], name: str) -> int:
    count = usage.get(name)
    return count if isinstance(count, int) and count > 0 else 0
