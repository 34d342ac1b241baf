"""What the API tells, as the record keeps it."""

import json
from collections.abc import Iterator, Mapping
from typing import cast

from mcp_agent.scenarios.report.record import Call, Event, Frame, Limit

Json = Mapping[str, object]

_TOLD_BY_CALLS = ("call.", "message.")
"""Events of these kinds stand in the record as calls, or say what a turn's events say too."""
_NAMES_WHO = frozenset({"by", "reason"})
_WHO = {"person": "the test"}
"""Whoever asks through the API counts as a person, and in a run that is the test."""
_NOT_TOLD = frozenset({"turn_id", "prompt", "source", "submission", "message_id", "before"})


def frame_of(picture: Json, *, at_seconds: float) -> Frame:
    """An answer of `GET /sessions/{id}/picture`."""
    lines = tuple(str(line) for line in cast("list[object]", picture["lines"]))
    columns, rows = cast("int", picture["columns"]), cast("int", picture["rows"])
    return Frame(at_seconds, columns, rows, lines, str(picture["title"]))


def event_of(told: Json, *, began_at: float) -> Event | None:
    """An event of a session; None for one that is told otherwise."""
    kind, facts = str(told["kind"]), cast("Json", told["facts"])
    if kind.startswith(_TOLD_BY_CALLS):
        return None
    at = max(0.0, cast("float", told["at"]) - began_at)
    if kind == "session.state":
        detail = f": {facts['detail']}" if facts.get("detail") else ""
        return Event(at, "session", f"{facts.get('before')} → {facts.get('state')}{detail}")
    return Event(at, kind.replace(".", " "), ", ".join(_told(facts)))


def _told(facts: Json) -> Iterator[str]:
    for key, value in facts.items():
        if key not in _NOT_TOLD and value not in (None, "", 0):
            is_who = key in _NAMES_WHO and value in _WHO
            yield f"by {_WHO[str(value)]}" if is_who else f"{key} {value}"


def call_of(told: Json, *, began_at: float, known: Call | None) -> Call:
    """A tool call as it is now; limits that were seen to run earlier are kept."""
    limits = {limit.layer: limit for limit in known.limits} if known else {}
    if running := cast("Json | None", told["next_limit"]):
        seconds = cast("float", running["in_seconds"]) + cast("float", told["age_seconds"])
        limits.setdefault(str(running["layer"]), Limit(str(running["layer"]), round(seconds, 1)))
    ended = cast("float | None", told["ended_at"])
    return Call(
        str(told["call_id"]),
        str(told["tool"]),
        json.dumps(told["arguments"], ensure_ascii=False),
        max(0.0, cast("float", told["started_at"]) - began_at),
        None if ended is None else max(0.0, ended - began_at),
        _text(told["why_ended"]),
        _text(told["happened"]),
        _text(told["detail"]),
        tuple(limits.values()),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
