"""Who is told of what calls come to, beside the ledger: people and programs that follow a session's events."""

from typing import Protocol


class Telling(Protocol):
    """Called in the event loop. It must return at once and raise nothing: no call waits for whoever follows it."""

    def __call__(self, session_id: str, kind: str, /, **facts: object) -> None: ...


def nobody(session_id: str, kind: str, /, **facts: object) -> None:
    """Nobody follows."""
