"""What a pane's clock left behind when it closed its pane with no server there to see it."""

import json
import time
from dataclasses import replace
from pathlib import Path

from mcp_agent.sessions.record import SessionRecord
from mcp_agent.sessions.retention.clock import WORD_FILE, ticks_of
from mcp_agent.sessions.retention.closing import Closing
from mcp_agent.state import StateDirectory
from mcp_agent.tmux.terminal import ClockClosing, Terminal


async def with_closing(state: StateDirectory, record: SessionRecord, terminal: Terminal | None) -> SessionRecord:
    """The record of a session whose pane is gone: stopped, with the reason, when its clock closed it.

    Raises `TmuxUnavailable`.
    """
    if record.stopped or record.keeping is None or record.keeping.limit is None:
        return record
    # The terminal's own word; after the terminal's end, the file that was written then.
    told = await terminal.take_closing(record.id) if terminal else None
    at = _written(state.session(record.id) / WORD_FILE, since=record.launched_at)
    if told is None and at is None:
        return record
    elapsed_seconds, abandoned = record.keeping.limit.total_seconds(), False
    if told is not None:
        abandoned = told.quiet_ticks < ticks_of(record.keeping.limit)
        elapsed_seconds = _ticks(told, abandoned=abandoned) * told.interval_seconds
    closing = Closing(
        record.keeping.limit, record.keeping.setting, at or time.time(), "tmux", elapsed_seconds, abandoned
    )
    return replace(record, stopped=True, closed=closing)


def _ticks(told: ClockClosing, *, abandoned: bool) -> int:
    return told.unset_ticks if abandoned else told.quiet_ticks


def _written(path: Path, *, since: float) -> float | None:
    """When the file says it was; None when there is none, or when it is about an earlier launch."""
    try:
        at = float(json.loads(path.read_bytes())["at"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return at if at >= since else None
