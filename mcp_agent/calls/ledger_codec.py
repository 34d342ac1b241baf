"""Facts as JSON, and back.

Reading is lenient towards other versions: fields that are new are ignored, and a fact that cannot be understood is
`Unrecognised` instead of an error.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from mcp_agent.calls.ledger_events import (
    DuplicateAllowed,
    Event,
    Evidence,
    Gated,
    Intent,
    Offered,
    Outcome,
    Progress,
    Resolved,
    Slow,
    Unrecognised,
    WaitEnded,
)
from mcp_agent.processes import ProcessIdentity

LONGEST_TEXT = 4000
"""In characters: the longest detail, note or progress text that is kept. Whole outputs are kept elsewhere."""

KINDS: Mapping[str, type[Any]] = {
    "intent": Intent,
    "slow": Slow,
    "progress": Progress,
    "wait_ended": WaitEnded,
    "outcome": Outcome,
    "evidence": Evidence,
    "resolved": Resolved,
    "gated": Gated,
    "duplicate_allowed": DuplicateAllowed,
    "offered": Offered,
}
"""The names in the file. A name is never given another meaning."""

_NAMES = {event: kind for kind, event in KINDS.items()}
_BOUNDED = {"detail", "note", "text"}
_ENCODER = json.JSONEncoder(separators=(",", ":"))


def kind_of(event: Event) -> str:
    """The fact's name in the file."""
    return _NAMES[type(event)]


def encode(event: Event) -> str:
    """The fact as one JSON object in ASCII; over-long texts are cut, and say so."""
    return _ENCODER.encode({name: _plain(name, getattr(event, name)) for name in _hints(kind_of(event))})


def decode(kind: str, text: str) -> Event | Unrecognised:
    """The fact that was written."""
    event = KINDS.get(kind)
    if event is None:
        return Unrecognised(kind, text)
    try:
        facts = json.loads(text)
        read: Event = event(**{name: _read(facts[name], hint) for name, hint in _hints(kind).items() if name in facts})
    except (TypeError, ValueError, RecursionError):
        return Unrecognised(kind, text)
    return read


def _plain(name: str, value: object) -> object:
    if isinstance(value, ProcessIdentity):
        return value.to_json()
    if name in _BOUNDED and isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{value[:LONGEST_TEXT]}… ({len(value) - LONGEST_TEXT} more characters)"
    return value


@cache
def _hints(kind: str) -> dict[str, Any]:
    return get_type_hints(KINDS[kind])


def _read(value: Any, hint: Any) -> object:
    """The value as a field of this type; raises TypeError or ValueError when it is none."""
    if hint is ProcessIdentity and isinstance(value, Mapping):
        return ProcessIdentity.from_json(value)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(value)
    plain = get_origin(hint) if get_origin(hint) is Mapping else hint
    if isinstance(value, int) and not isinstance(value, bool) and float in {hint, *get_args(hint)}:
        return float(value)
    if not isinstance(value, plain):
        raise TypeError(f"{value!r} is no {hint}")
    return value
