"""What every probe proves with: canaries, checks that are counted, and the two ways to fail."""

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

Evidence = Mapping[str, object]

_CANARY = re.compile(r"\b[A-Z]+-[0-9a-f]{8}\b")


class ProbeFailed(Exception):
    """Something is not as promised; the message says what."""


class NotFollowed(Exception):
    """The answer is not the one that was asked for. A scripted model has no excuse, a real one may be asked again."""

    def __init__(self, message: str, **told: str) -> None:
        self.told = told
        """`expected` and `seen`, where they can be said apart."""
        super().__init__(message)


@dataclass(slots=True)
class Checks:
    """How many things were checked: a probe that checks nothing proves nothing."""

    made: int = 0


_CHECKS: ContextVar[Checks | None] = ContextVar("checks", default=None)


@contextmanager
def counted() -> Iterator[Checks]:
    """Count the checks that the body makes."""
    checks = Checks()
    token = _CHECKS.set(checks)
    try:
        yield checks
    finally:
        _CHECKS.reset(token)


def require(holds: bool, otherwise: str) -> None:
    """Raises `ProbeFailed` with what is the case otherwise."""
    if (checks := _CHECKS.get()) is not None:
        checks.made += 1
    if not holds:
        raise ProbeFailed(otherwise)


def canary(word: str) -> str:
    """A token that nobody knew before."""
    return f"{word}-{secrets.token_hex(4)}"


def canaries_in(text: str) -> list[str]:
    """The tokens that stand in a text."""
    return _CANARY.findall(text)
