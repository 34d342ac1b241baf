"""The provider's own transcript as a witness: an answer that is not in it did not come from the provider."""

from datetime import timedelta
from pathlib import Path

from mcp_agent.adapter import Adapter
from mcp_agent.scenarios.chat.looking import look_until, nothing
from mcp_agent.scenarios.chat.proving import canaries_in, require
from mcp_agent.scenarios.workspace import Workspace
from mcp_agent.sessions.record import load_record
from mcp_agent.sessions.starting.conversations import transcript_of

WRITTEN_WITHIN = timedelta(seconds=10)
"""A provider may tell of its answer before it writes it down."""

_TELLING_PARTS = 3
"""How much of a transcript's path tells the provider; what stands before it may be moved by a variable of its own."""


def path_of(adapter: Adapter, space: Workspace, session_id: str) -> Path | None:
    """Where the provider keeps this conversation; None when there is none where such a provider keeps its own."""
    record = load_record(space.state, session_id)
    path = transcript_of(adapter, record) if record else None
    pattern = adapter.transcript_glob(record.native_session_id) if record and record.native_session_id else None
    own = path is not None and (pattern is None or path.match(str(Path(*Path(pattern).parts[-_TELLING_PARTS:]))))
    return path if own else None


def size(adapter: Adapter | None, space: Workspace, session_id: str) -> int:
    """How much of the conversation is written down so far."""
    path = path_of(adapter, space, session_id) if adapter else None
    return path.stat().st_size if path and path.exists() else 0


async def prove(adapter: Adapter | None, space: Workspace, session_id: str, *, answer: str, since: int) -> Path | None:
    """The transcript, which must hold this answer among what was written `since`. No adapter: nothing to prove."""
    if adapter is None:
        return None
    wanted = _as_written(answer)
    missing = await look_until(
        nothing, lambda: _missing(wanted, path_of(adapter, space, session_id), since), limit=WRITTEN_WITHIN
    )
    path = path_of(adapter, space, session_id)
    require(path is not None, f"{adapter.title} keeps no transcript of this conversation where it keeps its own")
    require(not missing, f"the transcript of {adapter.title} does not hold the answer: {', '.join(missing)} is missing")
    return path


def _as_written(answer: str) -> list[str]:
    """What is looked for: the answer itself, or its tokens where a file may write the rest in another way."""
    plain = answer.isascii() and answer.isprintable() and not set(answer) & set("\"\\<>&'")
    return [answer] if plain else canaries_in(answer)


def _missing(wanted: list[str], path: Path | None, since: int) -> list[str]:
    if path is None:
        return wanted
    with path.open("rb") as file:
        file.seek(since)
        written = file.read().decode(errors="replace")
    return [each for each in wanted if each not in written]
