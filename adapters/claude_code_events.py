"""What Claude Code's hooks and transcript say. Facts were observed on version 2.1.332.

`UserPromptSubmit` fires for a prompt that starts a turn and for one that is queued into the running turn, with the
exact text less trailing white space, and with a long paste wrapped in a tag. `Stop` fires once per completed turn,
`StopFailure` on an API error, and neither on an interrupt: that is only told by the transcript. After it, or when they
came too late for their turn, queued prompts start the next turn without a word from the hooks.

No row and no hook tells of a turn that was interrupted before its first answer: its prompt is a draft again.
Which turn is told of, and the fallback for a lost `Stop`, are in `claude_code_turns`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from adapters import claude_code_turns as turns
from adapters.records import record_of, text_of
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

CAUSES = {
    "authentication_failed": FailureCause.LOGIN,
    "billing_error": FailureCause.LIMITED,
    "rate_limit": FailureCause.LIMITED,
    "server_error": FailureCause.LIMITED,
}
"""What `StopFailure` calls its errors."""

_USED_UP = re.compile(r"You've (hit|reached) your .*\blimit\b")
"""How the end of a plan's allowance is told, which is a `rate_limit` too."""

_READ = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Together they are all that the model read."""

_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]\n]*\]")
_PASTED = re.compile(
    r'\n\n<pasted_content id="(?P<id>\w+)">\n(?P<text>.*?)\n</pasted_content id="(?P=id)">\n?', re.DOTALL
)
"""How a paste of four lines or of about a thousand characters stands in a prompt, for the model too."""


def read_event(event: Mapping[str, object]) -> Sequence[Signal]:
    """One hook's input. Unknown hooks and missing fields mean nothing."""
    match event.get("hook_event_name"):
        case "SessionStart" if session_id := text_of(event, "session_id"):
            transcript = text_of(event, "transcript_path")
            return [SessionIdentified(session_id, Path(transcript) if transcript else None)]
        case "UserPromptSubmit" if prompt := text_of(event, "prompt"):
            return [PromptAccepted(_unwrapped(prompt), native_turn_id=turns.turn_of_event(event))]
        case "Stop":
            text = text_of(event, "last_assistant_message")
            return [TurnEnded(TurnOutcome.COMPLETED, text, native_turn_id=turns.turn_of_event(event))]
        case "StopFailure":
            error, message = text_of(event, "error"), text_of(event, "last_assistant_message")
            failed = _failed(error, message, turn=turns.turn_of_event(event), source=Source.HOOK)
            return [failed, *_limits(error, message)]
        case _:
            return []


def _unwrapped(prompt: str) -> str:
    return _PASTED.sub(lambda paste: paste["text"], prompt)


def _failed(error: str, message: str, *, turn: str | None, source: Source) -> TurnEnded:
    reason = f"{error or 'unknown error'}: {message}".removesuffix(": ")
    cause = CAUSES.get(error, FailureCause.OTHER)
    return TurnEnded(TurnOutcome.FAILED, error=reason, cause=cause, source=source, native_turn_id=turn)


def _limits(error: str, message: str) -> Iterator[LimitedBy]:
    if error == "billing_error" or (error == "rate_limit" and _USED_UP.match(message)):
        yield LimitedBy("usage", source=Source.HOOK)
    elif error == "rate_limit":
        yield LimitedBy("rate", source=Source.HOOK)


def read_transcript(lines: Sequence[str]) -> Sequence[Signal]:
    """Interrupts, costs, ends of an allowance, and queued prompts that start a turn. A broken line means nothing."""
    return [signal for line in lines for signal in _record(record_of(line))]


def _record(record: Mapping[str, object]) -> Iterator[Signal]:
    """Rows of the CLI itself are marked; what a user wrote is not, and a subagent's interrupt is no end of the turn."""
    own = record.get("type") == "user" and record.get("rowSource") == "harness" and not record.get("isSidechain")
    if own and any(_INTERRUPTED.fullmatch(text) for text in _texts(record)):
        yield TurnEnded(TurnOutcome.INTERRUPTED, source=Source.TRANSCRIPT, native_turn_id=turns.turn_of_row(record))
    if record.get("type") == "user" and record.get("promptSource") == "queued" and not record.get("isSidechain"):
        prompt = "\n".join(_texts(record))
        yield PromptAccepted(_unwrapped(prompt), source=Source.TRANSCRIPT, native_turn_id=turns.turn_of_row(record))
    yield from turns.place(record)
    yield from turns.end(record)
    if record.get("type") == "assistant" and isinstance(message := record.get("message"), dict):
        yield from _usage(message)
    if turns.is_failure(record) and (error := text_of(record, "error")) in CAUSES:
        yield _failed(error, "\n".join(_texts(record)), turn=None, source=Source.TRANSCRIPT)
    match record:
        case {"isApiErrorMessage": True, "quotaLimits": {"status": "rejected", "resetsAt": int(epoch)}}:
            yield LimitedBy("usage", datetime.fromtimestamp(epoch, UTC), Source.TRANSCRIPT)


def _usage(message: Mapping[str, object]) -> Iterator[Signal]:
    """An answer of several blocks has a row for each, and all of them repeat what the whole answer cost."""
    usage, message_id = message.get("usage"), text_of(message, "id")
    if isinstance(usage, dict) and message_id:
        read = sum(_count(usage, name) for name in _READ)
        written = _count(usage, "output_tokens")
        if read or written:
            yield UsageReported(message_id, Usage(read, written))


def _count(usage: Mapping[str, object], name: str) -> int:
    count = usage.get(name)
    return count if isinstance(count, int) and count > 0 else 0


def _texts(record: Mapping[str, object]) -> Iterator[str]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        yield from (
            block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str)
        )
