"""What Cursor's hooks say. From https://cursor.com/docs/hooks, read in November 2026; not seen with the program.

`beforeSubmitPrompt`, `afterAgentResponse` and `stop` fire in the interactive CLI, and none of them with `--print`
(users' reports on 2026.09.10). `stop` can be lost when the CLI reconnects; the next prompt ends its turn then.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.records import text_of
from mcp_agent.adapter import (
    Answered,
    FailureCause,
    LimitedBy,
    PromptAccepted,
    SessionIdentified,
    Signal,
    Source,
    TurnEnded,
    TurnOutcome,
)

OUTCOMES = {
    "completed": TurnOutcome.COMPLETED,
    "aborted": TurnOutcome.INTERRUPTED,
    "error": TurnOutcome.FAILED,
}
"""What `stop` calls the ends of a turn."""

_LOGIN = ("401", "403", "log in", "unauthorized", "authentication")
_LIMITED = ("429", "rate limit", "usage limit", "resource_exhausted", "500", "502", "503", "504", "unavailable")


def read_event(event: Mapping[str, object]) -> Sequence[Signal]:
    """One hook's input. Unknown hooks and missing fields mean nothing."""
    match event.get("hook_event_name"):
        case "sessionStart":
            return _identified(event)
        case "beforeSubmitPrompt" if prompt := text_of(event, "prompt"):
            accepted = PromptAccepted(prompt, native_turn_id=text_of(event, "generation_id") or None)
            return [*_identified(event), accepted]
        case "afterAgentResponse" if text := text_of(event, "text"):
            return [Answered(text)]
        case "stop" if (outcome := OUTCOMES.get(text_of(event, "status"))) is not None:
            return _ended(outcome, event)
        case _:
            return []


def _identified(event: Mapping[str, object]) -> list[Signal]:
    conversation, transcript = text_of(event, "conversation_id"), text_of(event, "transcript_path")
    return [SessionIdentified(conversation, Path(transcript) if transcript else None)] if conversation else []


def _ended(outcome: TurnOutcome, event: Mapping[str, object]) -> list[Signal]:
    """The generation's id is the same from a user's message to its end."""
    turn = text_of(event, "generation_id") or None
    if outcome is not TurnOutcome.FAILED:
        return [TurnEnded(outcome, native_turn_id=turn)]
    error = text_of(event, "error_message") or "the CLI said that the turn failed, and not why"
    cause = _cause(error.lower())
    ended = TurnEnded(outcome, error=error, cause=cause, native_turn_id=turn)
    return [ended, *([LimitedBy("rate", source=Source.HOOK)] if "429" in error or "rate limit" in error else [])]


def _cause(error: str) -> FailureCause:
    if any(word in error for word in _LOGIN):
        return FailureCause.LOGIN
    return FailureCause.LIMITED if any(word in error for word in _LIMITED) else FailureCause.OTHER
