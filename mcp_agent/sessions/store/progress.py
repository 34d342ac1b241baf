"""How far a session's own words were read, kept together with what they led to.

A server that dies leaves turns and progress of the same moment behind, so that the next one reads on from there: no
word is taken twice, and none is missed.
"""

import json
import logging
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError

from mcp_agent.sessions.events import TranscriptTail
from mcp_agent.sessions.record import SessionRecord
from mcp_agent.sessions.store.store import SessionStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """`taken` names the spooled events that were taken and may not be removed yet."""

    taken: tuple[str, ...] = ()
    transcript: str | None = None
    offset: int = 0

    @classmethod
    def of(cls, tail: TranscriptTail, taken: tuple[str, ...] = ()) -> "Progress":
        return cls(taken, str(tail.path) if tail.path else None, tail.offset)

    def save(self, store: SessionStore, session_id: str) -> None:
        store.save_progress(session_id, json.dumps(asdict(self)))


_PROGRESS = TypeAdapter(Progress)


def progress_of(store: SessionStore, session_id: str) -> Progress | None:
    """None for a session that was never read by a server that keeps this. Raises `StoreUnusable`."""
    kept = store.progress(session_id)
    try:
        return _PROGRESS.validate_json(kept) if kept else None
    except ValidationError as error:
        log.warning("session %s: how far it was read is not known: %s", session_id, error)
        return None


def tail_of(progress: Progress | None, record: SessionRecord) -> TranscriptTail:
    """The session's transcript from where it was read last; from its end when nobody knows."""
    if progress is None:
        return TranscriptTail.from_end_of(record.transcript)
    same = record.transcript is not None and str(record.transcript) == progress.transcript
    return TranscriptTail(record.transcript, progress.offset if same else 0)
