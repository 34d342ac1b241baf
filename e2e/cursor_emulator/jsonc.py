"""Configuration files as people write them: with comments and trailing commas."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', re.DOTALL)


def load(path: Path) -> Mapping[str, object]:
    """The object in this file; an empty one when there is none that can be read."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError:
        return {}
    for noise in (_COMMENT, _TRAILING_COMMA):
        text = noise.sub(lambda found: found[1] or "", text)
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def section(value: Mapping[str, object], key: str) -> Mapping[str, object]:
    """The object under this key, or an empty one."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}
