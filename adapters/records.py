"""Reading what CLIs write about themselves, which may be of any version: what is not there reads as nothing."""

import json
from collections.abc import Mapping


def record_of(line: str) -> Mapping[str, object]:
    """The JSON object of one line; an empty one for anything else."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def text_of(record: Mapping[str, object], key: str) -> str:
    """The text of one field; an empty one for anything else."""
    value = record.get(key)
    return value if isinstance(value, str) else ""
