"""A provider's own conversations: where they are, and which of them a session may go on with."""

import re
from collections.abc import Iterable
from pathlib import Path

from mcp_agent.adapter import Adapter
from mcp_agent.errors import BadRequest, ConversationInUse
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import SessionRecord

_CONVERSATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_conversation(conversation: str) -> None:
    """Raises `BadRequest` for what is no id: it will stand in an argv and in a path."""
    if not _CONVERSATION.fullmatch(conversation):
        rule = "letters, digits, '.', '_' and '-', 128 at most"
        raise BadRequest(f"{conversation[:60]!r} is no id of a conversation: {rule}")


def check_free(conversation: str, sessions: Iterable[LiveSession], *, but: str | None = None) -> None:
    """Raises `ConversationInUse` when a living session, other than `but`, has this conversation, else as above."""
    check_conversation(conversation)
    for session in sessions:
        if session.over is None and session.id != but and session.record.native_session_id == conversation:
            raise ConversationInUse(conversation, session.id)


def transcript_of(adapter: Adapter, record: SessionRecord) -> Path | None:
    """The transcript of the record's conversation; None when there is none where it was told, or would be, to be."""
    if record.transcript is not None and record.transcript.is_file():
        return record.transcript
    pattern = record.native_session_id and adapter.transcript_glob(record.native_session_id)
    return next(iter(record.home.glob(pattern)), None) if pattern else None
