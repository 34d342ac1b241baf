"""Durations as people write them: `90m`, `1h30m`, `5400s`, `1.5h`, `100ms`.

The grammar is Go's: a sign, then numbers each with its unit (h, m, s, ms, us or µs, ns). Only a bare `0` needs none.
"""

import re
from datetime import timedelta
from fractions import Fraction

LONGEST = timedelta(microseconds=(2**63 - 1) // 1000)
"""About 292 years: what fits Go's own type. Longer texts are refused, so that none wraps round or overflows."""

_MICROSECONDS = {
    "h": Fraction(3_600_000_000),
    "m": Fraction(60_000_000),
    "s": Fraction(1_000_000),
    "ms": Fraction(1000),
    "us": Fraction(1),
    "µs": Fraction(1),
    "μs": Fraction(1),
    "ns": Fraction(1, 1000),
}
_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_PART = re.compile(rf"({_NUMBER})(ms|us|µs|μs|ns|h|m|s)")
_WHOLE = re.compile(rf"([+-]?)((?:{_PART.pattern})+)")
_BARE = re.compile(rf"[+-]?{_NUMBER}")
_LONGEST_TEXT = 64


def parse_duration(text: str) -> timedelta:
    """The duration that the text says; a negative one is recognised, so that a caller can refuse it by name.

    Fractions of a microsecond round away from zero: nothing that is not zero becomes zero. Raises `ValueError` with a
    sentence that starts with the text.
    """
    if text in {"0", "+0", "-0"}:
        return timedelta(0)
    match = _WHOLE.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise ValueError(_why_not(text))
    total = sum((Fraction(number) * _MICROSECONDS[unit] for number, unit in _PART.findall(match[2])), Fraction(0))
    microseconds = -(-total.numerator // total.denominator)
    if microseconds > LONGEST // timedelta(microseconds=1):
        raise ValueError(f"{text!r} is too long a duration")
    return timedelta(microseconds=-microseconds if match[1] == "-" else microseconds)


def format_duration(duration: timedelta) -> str:
    """The shortest usual text for it, which `parse_duration` reads back: `45s`, `90m`, `2h30m`, `1.5s`, `250ms`.

    Minutes are kept up to two hours, as people say them: 90 minutes is `90m`, and 60 minutes is `1h`.
    """
    if duration < timedelta(0):
        return f"-{format_duration(-duration)}"
    if timedelta(0) < duration < timedelta(seconds=1):
        return _with_unit(duration, timedelta(milliseconds=1), "ms")
    minutes, rest = divmod(duration, timedelta(minutes=1))
    hours = minutes // 60 if minutes >= 120 or (minutes % 60 == 0 and not rest) else 0
    parts = [f"{hours}h" if hours else "", f"{minutes - hours * 60}m" if minutes - hours * 60 else ""]
    if rest or not minutes:
        parts.append(_with_unit(rest, timedelta(seconds=1), "s"))
    return "".join(parts)


def _with_unit(duration: timedelta, unit: timedelta, name: str) -> str:
    whole, rest = divmod(duration, unit)
    if not rest:
        return f"{whole}{name}"
    digits = len(str(unit // timedelta(microseconds=1))) - 1
    decimals = f"{rest // timedelta(microseconds=1):0{digits}d}".rstrip("0")
    return f"{whole}.{decimals}{name}"


def _why_not(text: str) -> str:
    shown = repr(text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…")
    if not text.strip():
        return f"{shown} is empty; write a duration such as 90m or 1h30m"
    if len(text) <= _LONGEST_TEXT and _BARE.fullmatch(text):
        return f"{shown} has no unit; write {text}s or {text}m"
    return f"{shown} is no duration; write one such as 90m, 1h30m or 5400s"
