"""Which turn a row of Claude Code's transcript tells of. Facts were observed on version 2.1.332.

Hooks and a user's rows name the turn, by the id of the prompt that began it. An answer's rows and the last row of a
turn, which comes after the `Stop` hook, name none: they belong to the turn of the user's row before them.
"""

from collections.abc import Iterator, Mapping

from mcp_agent.adapter import Source, TranscriptAt, TurnEnded, TurnOutcome


def turn_of_event(event: Mapping[str, object]) -> str | None:
    """The turn that a hook tells of; a prompt that is queued is told of in the turn that runs."""
    return _id(event.get("prompt_id"))


def turn_of_row(record: Mapping[str, object]) -> str | None:
    """The turn of a user's row, which is none for what a command of the CLI's own left behind."""
    return None if record.get("rowSource") == "local" else _id(record.get("promptId"))


def place(record: Mapping[str, object]) -> Iterator[TranscriptAt]:
    """Where this row takes the transcript. A subagent's rows, and those about an error, take it nowhere."""
    if record.get("isSidechain") or record.get("isApiErrorMessage"):
        return
    if record.get("type") == "user" and (turn := turn_of_row(record)):
        yield TranscriptAt(turn)
    elif record.get("type") == "assistant" and isinstance(message := record.get("message"), dict):
        yield TranscriptAt(answer=_said(message.get("content")))


def end(record: Mapping[str, object]) -> Iterator[TurnEnded]:
    """The row that closes a completed turn, in case its hook was never heard."""
    if record.get("type") == "system" and record.get("subtype") == "turn_duration" and not record.get("isSidechain"):
        yield TurnEnded(TurnOutcome.COMPLETED, source=Source.TRANSCRIPT)


def is_failure(record: Mapping[str, object]) -> bool:
    """Whether this row is an error that no retry mended, in case its hook was never heard."""
    return record.get("isApiErrorMessage") is True and not record.get("isSidechain")


def _said(content: object) -> str:
    """As `Stop` tells it: the texts of the last row alone."""
    blocks = content if isinstance(content, list) else []
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _id(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
