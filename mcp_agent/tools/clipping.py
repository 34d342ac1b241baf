"""As much of an output file as a model should read: its beginning and its end, valid text, with the exact omission."""

import codecs
import os
from pathlib import Path
from typing import NamedTuple

from mcp_agent.tools.bounds import json_bytes

SMALLEST = 64


class Clipped(NamedTuple):
    """The part of a stream that is shown."""

    text: str
    omitted_bytes: int
    binary: bool
    """What is shown is not all text: it held NUL or was no UTF-8."""

    @property
    def json_bytes(self) -> int:
        return json_bytes(self.text)


class Stream(NamedTuple):
    """An output file, and the length of the stream of which it may hold less."""

    path: Path
    total_bytes: int | None
    """None: the file holds all of it."""


def clip(path: Path, total_bytes: int | None, *, budget_bytes: int) -> Clipped:
    """Head and tail of a stream, within a budget that counts bytes of JSON text."""
    if not path.exists():
        return Clipped(_omission(total_bytes) if total_bytes else "", total_bytes or 0, binary=False)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        total = size if total_bytes is None else total_bytes
        keep = min(budget_bytes, size)
        while True:
            clipped = _clip(file.fileno(), size=size, total=total, keep=keep)
            if clipped.json_bytes <= budget_bytes or keep <= SMALLEST:
                return clipped
            keep = max(SMALLEST, keep * budget_bytes // clipped.json_bytes - SMALLEST)


def clip_pair(first: Stream, second: Stream, *, budget_bytes: int) -> tuple[Clipped, Clipped]:
    """Two streams within one budget: half each, and what one does not need goes to the other."""
    second_shown = clip(*second, budget_bytes=budget_bytes // 2)
    first_shown = clip(*first, budget_bytes=budget_bytes - second_shown.json_bytes)
    if second_shown.omitted_bytes:
        second_shown = clip(*second, budget_bytes=budget_bytes - first_shown.json_bytes)
    return first_shown, second_shown


def _clip(descriptor: int, *, size: int, total: int, keep: int) -> Clipped:
    if keep >= size and size == total:
        raw = os.pread(descriptor, size, 0)
        return Clipped(raw.decode(errors="replace"), 0, _is_binary(raw))
    tail_bytes = keep // 2
    head = _without_cut_end(os.pread(descriptor, keep - tail_bytes, 0))
    tail = _without_cut_start(os.pread(descriptor, tail_bytes, size - tail_bytes))
    omitted = total - len(head) - len(tail)
    text = f"{head.decode(errors='replace')}{_omission(omitted)}{tail.decode(errors='replace')}"
    return Clipped(text, omitted, _is_binary(head) or _is_binary(tail))


def _omission(omitted_bytes: int) -> str:
    return f"\n[... {omitted_bytes} bytes omitted ...]\n"


def _is_binary(raw: bytes) -> bool:
    try:
        return "\0" in raw.decode()
    except UnicodeDecodeError:
        return True


def _without_cut_end(raw: bytes) -> bytes:
    """Without the first bytes of a character whose last ones are missing."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    decoder.decode(raw)
    return raw[: len(raw) - len(decoder.getstate()[0])]


def _without_cut_start(raw: bytes) -> bytes:
    """Without the last bytes of a character whose first ones are missing."""
    continuation = next((at for at, byte in enumerate(raw[:3]) if byte & 0xC0 != 0x80), min(3, len(raw)))
    return raw[continuation:]
