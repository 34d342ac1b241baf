"""An asciicast v2 of the pane, to replay with `asciinema play` or any player of that format.

It is made of pictures of the pane, not of the bytes that the CLI wrote: a state that lasted less than the time between
two pictures is not in it. Format: <https://docs.asciinema.org/manual/asciicast/v2/>.
"""

import json
from collections.abc import Iterator
from datetime import datetime

from mcp_agent.scenarios.report.record import Frame, ProviderRun

IDLE_LIMIT_SECONDS = 2.0
"""Longer silences are shortened to this when played."""

_BLANK = "\x1b[0m\x1b[?25l\x1b[2J\x1b[H"
_DEFAULT_SIZE = (120, 36)


def asciicast(provider: ProviderRun, *, began_at: datetime) -> str:
    """One recording: a header, the pictures, and a marker where each probe begins."""
    columns, rows = _size(provider)
    header = {
        "version": 2,
        "width": columns,
        "height": rows,
        "timestamp": int(began_at.timestamp()),
        "duration": round(provider.elapsed_seconds, 3),
        "idle_time_limit": IDLE_LIMIT_SECONDS,
        "title": f"{provider.title}, from pictures of its pane",
        "env": {"TERM": "tmux-256color"},
    }
    events = sorted([*_markers(provider), *_pictures(provider, (columns, rows))], key=lambda event: event[0])
    return "\n".join(json.dumps(each, ensure_ascii=False) for each in (header, *events)) + "\n"


_Event = tuple[float, str, str]


def _size(provider: ProviderRun) -> tuple[int, int]:
    first = next(iter(provider.frames), None)
    return (first.columns, first.rows) if first else _DEFAULT_SIZE


def _markers(provider: ProviderRun) -> Iterator[_Event]:
    for probe in provider.probes:
        if probe.elapsed_seconds:
            yield round(probe.began_seconds, 3), "m", probe.name


def _pictures(provider: ProviderRun, size: tuple[int, int]) -> Iterator[_Event]:
    before: Frame | None = None
    for frame in provider.frames:
        if (frame.columns, frame.rows) != size:
            size = (frame.columns, frame.rows)
            yield round(frame.at_seconds, 3), "r", f"{size[0]}x{size[1]}"
        if before is None or frame.lines != before.lines:
            yield round(frame.at_seconds, 3), "o", _BLANK + "\r\n".join(frame.lines) + "\x1b[0m"
        before = frame
