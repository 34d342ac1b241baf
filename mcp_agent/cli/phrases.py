"""Small pieces of the sentences that people read."""

import time
from datetime import timedelta
from typing import cast

from mcp_agent.durations import format_duration


def number_of(count: object, noun: str) -> str:
    """`1 session`, `2 sessions`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def counted(count: int, noun: str) -> str:
    """`1 session was`, `2 sessions were`."""
    return f"{number_of(count, noun)} {'was' if count == 1 else 'were'}"


def span(seconds: object) -> str:
    """A measured time in whole seconds, `2m59s`; `-` when there is none."""
    return "-" if seconds is None else format_duration(timedelta(seconds=max(0, int(cast("float", seconds)))))


def ago(at: object) -> str:
    """How long ago a wall-clock epoch was; `-` when there is none."""
    return "-" if at is None else span(time.time() - cast("float", at))
