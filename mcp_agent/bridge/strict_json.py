"""JSON as the standard has it: what comes in can go out again, and every line that goes out is one line."""

import json
import math

_LINE_BREAKS = ("\u0085", "\u2028", "\u2029")


def loads(text: bytes) -> object:
    """Decode UTF-8 JSON; ValueError for anything else: NaN, numbers beyond a float and bottomless nesting included."""
    try:
        return _DECODER.decode(text.decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def dumps_line(value: object) -> bytes:
    """One line of UTF-8. A lone surrogate, which strict readers refuse, becomes a question mark."""
    text = _LINE_ENCODER.encode(value)
    for character in _LINE_BREAKS:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "replace") + b"\n"


def dumps(value: object) -> bytes:
    """Encode as ASCII; ValueError for what cannot be encoded."""
    try:
        return _ASCII_ENCODER.encode(value).encode()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite)
_LINE_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_ASCII_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
