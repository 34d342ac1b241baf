"""What people call their sessions, and how a name leads to the one session that it means.

A name is for people: tmux and the file system see ids only, so that no two names can become one.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from mcp_agent.errors import BadSessionName, SessionNameTaken
from mcp_agent.sessions.record import SessionRecord

LONGEST_NAME = 64
_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:-]{{0,{LONGEST_NAME - 1}}}")
_ID_PREFIX = "s-"


def is_name(text: str) -> bool:
    return bool(_NAME.fullmatch(text)) and not text.startswith(_ID_PREFIX)


def check_name(text: str) -> str:
    """The name itself. Raises `BadSessionName` with the rule that it breaks."""
    if not text:
        raise BadSessionName(text, "is empty")
    if len(text) > LONGEST_NAME:
        raise BadSessionName(text, f"has {len(text)} characters; {LONGEST_NAME} are allowed")
    if text.startswith(_ID_PREFIX):
        raise BadSessionName(text, f"looks like a session's id; do not begin it with {_ID_PREFIX!r}")
    if not _NAME.fullmatch(text):
        raise BadSessionName(
            text, "may have ASCII letters, digits, '.', '_', ':' and '-', and begins with a letter or digit"
        )
    return text


def session_named(name: str, records: Iterable[SessionRecord]) -> str | None:
    """The id of the session that this name means: the one that holds it, or else the last one that did."""
    found = [record for record in records if record.name == name]
    return max(found, key=lambda record: (not record.stopped, record.created_at)).id if found else None


def tags_of(record: SessionRecord) -> dict[str, str]:
    """What a session's pane is marked with; the name is shown to whoever attaches, and nothing is found by it."""
    return {"session": record.id, "provider": record.provider} | ({"name": record.name} if record.name else {})


@dataclass(slots=True)
class Names:
    """Which names are taken by sessions that are still being started."""

    _starting: dict[str, str] = field(default_factory=dict)

    def claim(self, record: SessionRecord, others: Iterable[SessionRecord]) -> None:
        """Hold the record's name until `release`. Raises `SessionNameTaken` when another session has it.

        A session that was stopped holds no name.
        """
        if record.name is None:
            return
        held = {other.name: other.id for other in others if not other.stopped and other.id != record.id}
        if holder := self._starting.get(record.name) or held.get(record.name):
            raise SessionNameTaken(record.name, holder)
        self._starting[record.name] = record.id

    def release(self, record: SessionRecord) -> None:
        """The session is known by now, or will never be."""
        if record.name is not None:
            self._starting.pop(record.name, None)
