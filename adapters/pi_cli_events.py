"""What the extension in Pi tells. Facts were observed on version 1.6.0.

`agent_settled` comes once for every run, after all retries, on success, error and abort (docs/extensions.md), so it is
the end of a turn. A run goes on for as long as prompts are queued for it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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
)

_STATUS = re.compile(r"\b([45]\d\d)\b")
_UNREACHABLE = re.compile(r"connection error|fetch failed|ECONN|ENOTFOUND|ETIMEDOUT|overloaded", re.IGNORECASE)
_SPENT = re.compile(r"quota|billing|usage limit|insufficient (credit|balance)", re.IGNORECASE)


def read_event(event: Mapping[str, object]) -> Sequence[Signal]:
    """One event of the extension. Unknown events and missing fields mean nothing."""
    match event:
        case {"event": "session_start", "session_id": str(session_id)} if session_id:
            transcript = event.get("transcript")
            return [SessionIdentified(session_id, Path(transcript) if isinstance(transcript, str) else None)]
        case {"event": "prompt", "text": str(text)} if text:
            return [PromptAccepted(text, queued=event.get("queued") is True)]
        case {"event": "settled"}:
            return list(_settled(event))
        case _:
            return []


def _settled(event: Mapping[str, object]) -> Iterator[Signal]:
    usage = _usage(event.get("usage"))
    if event.get("aborted") is True:
        yield TurnEnded(TurnOutcome.INTERRUPTED, usage=usage)
        return
    error = _error(event)
    if error is None:
        final_text = event.get("final_text")
        yield TurnEnded(TurnOutcome.COMPLETED, final_text if isinstance(final_text, str) else "", usage=usage)
        return
    status = _status(error)
    yield TurnEnded(TurnOutcome.FAILED, error=error, cause=_cause(error, status), usage=usage)
    if status == 402 or _SPENT.search(error):
        yield LimitedBy("usage", source=Source.HOOK)
    elif status == 429:
        yield LimitedBy("rate", source=Source.HOOK)


def _error(event: Mapping[str, object]) -> str | None:
    """Why the last answer is none; None when it is one."""
    told = event.get("error")
    match event.get("stop_reason"):
        case "error":
            return told if isinstance(told, str) and told else "the model gave an error without a word"
        case str():
            return None
        case _:
            return "the run ended without an answer of the model"


def _status(error: str) -> int | None:
    found = _STATUS.search(error)
    return int(found[1]) if found else None


def _cause(error: str, status: int | None) -> FailureCause:
    if status in {401, 403}:
        return FailureCause.LOGIN
    limited = status in {402, 429} or (status or 0) >= 500 or _UNREACHABLE.search(error) or _SPENT.search(error)
    return FailureCause.LIMITED if limited else FailureCause.OTHER


def _usage(told: object) -> Usage | None:
    """A model of unknown prices costs nothing by Pi's count."""
    match told:
        case {"input": int(read), "output": int(written), "cost": int() | float() as cost} if read or written:
            return Usage(read, written, float(cost) or None)
        case _:
            return None
