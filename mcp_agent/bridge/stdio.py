"""The two ends of stdio: lines from the client, lines to the client."""

import os
import select
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator

from .jsonrpc import Message
from .loop import Wait
from .strict_json import dumps_line

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes; a longer line is skipped, so that no client can fill the memory."""


_AT_ONCE = 1 << 16


def read_lines(descriptor: int, take: Callable[[bytes | None], None]) -> Generator[Wait, bool, None]:
    """Hand on every line that is not blank until the end of input; None for one that was too long."""
    lines, data = _Lines(), b"\n"
    while data:
        yield Wait(descriptor)
        try:
            data = os.read(descriptor, _AT_ONCE)
        except OSError:
            data = b""
        for line in lines.of(data) if data else lines.last():
            take(line)


class _Lines:
    """Puts lines together from what was read."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._is_too_long = False

    def of(self, data: bytes) -> Iterator[bytes | None]:
        """The lines that this ends."""
        *ends, begun = data.split(b"\n")
        for end in ends:
            self._add(end)
            yield from self.last()
        self._add(begun)

    def last(self) -> Iterator[bytes | None]:
        """The line that has begun, as it is."""
        line, was_too_long = bytes(self._begun), self._is_too_long
        self._begun, self._is_too_long = bytearray(), False
        if was_too_long:
            yield None
        elif line and not line.isspace():
            yield line

    def _add(self, part: bytes) -> None:
        if self._is_too_long or len(self._begun) + len(part) >= LONGEST_LINE:
            self._begun, self._is_too_long = bytearray(), True
        else:
            self._begun += part


class Output:
    """Whole lines to the client, in order. A client that does not read blocks nobody.

    A thread of its own writes what cannot be written at once; the change of threads is what a short line saves.
    """

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        self._descriptor, self._on_broken = descriptor, on_broken
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)
        self._lines: deque[bytes] = deque()
        self._changed = threading.Condition()
        threading.Thread(target=self._write_forever, name="stdout", daemon=True).start()

    def send(self, message: Message) -> None:
        line = dumps_line(message)
        with self._changed:
            rest = line if self._lines else line[self._written_at_once(line) :]
            if rest:
                self._lines.append(rest)
                self._changed.notify_all()

    def _written_at_once(self, line: bytes) -> int:
        """How much of a short line there was room for. What is broken shows when the thread writes."""
        if len(line) > select.PIPE_BUF or self._room.poll(0) != [(self._descriptor, select.POLLOUT)]:
            return 0
        try:
            return os.write(self._descriptor, line)
        except OSError:
            return 0

    def drain(self, limit_seconds: float) -> None:
        """Wait until everything is written, or the limit has passed."""
        with self._changed:
            self._changed.wait_for(lambda: not self._lines, limit_seconds)

    def _write_forever(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._lines))
                rest = memoryview(self._lines[0])
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                self._on_broken()
                return
            with self._changed:
                self._lines.popleft()
                self._changed.notify_all()
