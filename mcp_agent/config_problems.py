"""What is wrong with a configuration file, in one line: where, what, and the word that was probably meant."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from tomllib import TOMLDecodeError
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

_TABLE = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?")
_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")
_PLAIN = {"tuple_type": "must be a list", "model_type": "must be a table", "dict_type": "must be a table"}
_KEY = re.compile(r"""\s*([A-Za-z0-9_-]+|"[^"]*"|'[^']*')\s*[=.]""")


def sentence(error: ValidationError, text: str, *, model: type[BaseModel]) -> str:
    """The first problem of the file, with its line: `line 3: unknown key 'idle' in [timeouts]; did you mean …?`."""
    problem = error.errors(include_url=False, include_context=False)[0]
    path = tuple(str(part) for part in problem["loc"] if isinstance(part, str))
    return f"{_where(text, path)}{_what(problem['type'], problem['msg'], path=path, model=model)}"


def toml_sentence(error: TOMLDecodeError, text: str) -> str:
    """Why the file is no TOML, with its line."""
    message = " ".join(str(error).split())
    place = _TOML_PLACE.search(message)
    line = place[1] if place and place[1] else len(text.splitlines())
    return f"line {line}: no TOML: {_TOML_PLACE.sub('', message)}"


def _what(kind: str, message: str, *, path: Sequence[str], model: type[BaseModel]) -> str:
    if kind != "extra_forbidden":
        return f"{'.'.join(path)}: {_PLAIN.get(kind, message.removeprefix('Value error, '))}"
    *tables, key = path
    known = _keys(model, tables)
    meant = get_close_matches(key, known, n=1)
    hint = f"did you mean {meant[0]!r}?" if meant else f"known ones: {', '.join(known)}"
    place = f" in [{'.'.join(tables)}]" if tables else ""
    return f"unknown key {key!r}{place}; {hint}"


def _keys(model: type[BaseModel], tables: Sequence[str]) -> list[str]:
    """The keys that the table at this path may hold."""
    found: Any = model
    for table in tables:
        found = found.model_fields[table].annotation if _is_model(found) else get_args(found)[1]
    return sorted(found.model_fields)


def _is_model(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _where(text: str, path: Sequence[str]) -> str:
    """`line N: ` for the key, else for the closest table around it; empty when neither is spelled out."""
    lines = _lines(text)
    for end in range(len(path), 0, -1):
        if (number := lines.get(tuple(path[:end]))) is not None:
            return f"line {number}: "
    return ""


def _lines(text: str) -> Mapping[tuple[str, ...], int]:
    """The line of every table and of every key that starts a line."""
    table: tuple[str, ...] = ()
    found: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _TABLE.match(line):
            table = tuple(part.strip().strip("\"'") for part in header[1].split("."))
            found.setdefault(table, number)
        elif key := _KEY.match(line):
            found.setdefault((*table, key[1].strip("\"'")), number)
    return found
