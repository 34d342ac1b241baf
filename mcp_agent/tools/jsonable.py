"""A Python value as plain JSON data, or why it is none. Nothing is guessed: a set is no list, and bytes are no text."""

import dataclasses
import math
import re
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel

DEEPEST = 100
"""Levels of nesting; a value that holds itself has more."""

MOST_VALUES = 200_000
"""More would hold up the server for long, and no model reads them."""

LONGEST_NUMBER = 4000
"""Binary digits of a whole number; JSON readers give up on longer ones."""

_SURROGATE = re.compile("[\ud800-\udfff]")


class NotJson(ValueError):
    """A value that JSON cannot hold; the message says where and why."""


def jsonable(value: object) -> object:
    """The value as dicts with text keys, lists, text, finite numbers, booleans and None.

    Pydantic models, dataclasses, named tuples, enums, dates, paths, UUIDs and decimals become what they stand for.
    Half a surrogate pair, as in a file name that is no UTF-8, becomes U+FFFD. Raises `NotJson`.
    """
    try:
        return _Conversion().convert(value, where="$", depth=0)
    except NotJson:
        raise
    except Exception as error:
        # Code of the value's own ran: a serializer, a property, a `__str__`.
        raise NotJson(f"turning it into JSON raised {type(error).__name__}") from error


@dataclasses.dataclass(slots=True)
class _Conversion:
    values: int = 0

    def convert(self, value: object, *, where: str, depth: int) -> object:
        self._count(where, depth)
        match value:
            case Enum():
                return self.convert(value.value, where=where, depth=depth + 1)
            case None | bool() | int() | float() | str():
                return _scalar(value, where)
            case datetime() | date() | time():
                return value.isoformat()
            case PurePath() | UUID() | Decimal():
                return _scalar(str(value), where)
            case BaseModel():
                return self.convert(value.model_dump(mode="json"), where=where, depth=depth + 1)
            case Mapping():
                return self._mapping(value, where=where, depth=depth + 1)
            case list() | tuple():
                return [self.convert(item, where=f"{where}[{at}]", depth=depth + 1) for at, item in enumerate(value)]
            case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
                fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
                return self._mapping(fields, where=where, depth=depth + 1)
        raise NotJson(f"JSON cannot hold the {type(value).__name__} at {where}")

    def _mapping(self, value: Mapping[Any, object], *, where: str, depth: int) -> dict[str, object]:
        plain: dict[str, object] = {}
        for key, item in value.items():
            name = _key(key, where)
            if name in plain:
                raise NotJson(f"two keys at {where} are both {name!r} in JSON")
            plain[name] = self.convert(item, where=f"{where}.{name}", depth=depth)
        return plain

    def _count(self, where: str, depth: int) -> None:
        self.values += 1
        if depth > DEEPEST:
            raise NotJson(f"it is nested deeper than {DEEPEST} levels, or holds itself")
        if self.values > MOST_VALUES:
            raise NotJson(f"it holds more than {MOST_VALUES} values; it got as far as {where[:80]}")


def _scalar(value: bool | float | str | None, where: str) -> object:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", str.__str__(value))
    if isinstance(value, float) and not math.isfinite(value):
        raise NotJson(f"JSON cannot hold the number {float(value)} at {where}")
    if isinstance(value, int) and value.bit_length() > LONGEST_NUMBER:
        raise NotJson(f"the whole number at {where} has {value.bit_length()} binary digits")
    return value


def _key(key: object, where: str) -> str:
    """A key as JSON writes it. Whole numbers, paths, dates and UUIDs are plain as text; nothing else is."""
    while isinstance(key, Enum):
        key = key.value
    match key:
        case str():
            return str(_scalar(key, where))
        case bool():
            pass
        case int() | PurePath() | UUID():
            return str(_scalar(str(key), where))
        case datetime() | date() | time():
            return key.isoformat()
    raise NotJson(f"JSON cannot hold the key of type {type(key).__name__} at {where}")
