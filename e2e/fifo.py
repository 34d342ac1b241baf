"""A pipe with a name, through which commands under test and the test tell each other how far they are."""

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

TOLD_WITHIN_SECONDS = 60


class Fifo:
    """Open for reading and writing, so that no side ever waits for the other one to open it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._rest = b""

    @classmethod
    @contextmanager
    def at(cls, path: Path) -> Iterator[Self]:
        """Make it. On leaving, whoever still reads it meets its end."""
        os.mkfifo(path)
        fifo = cls(path, os.open(path, os.O_RDWR))
        try:
            yield fifo
        finally:
            fifo.close()

    def lines(self, count: int) -> list[str]:
        """The next lines that somebody writes; fails when they do not come in time."""
        deadline = time.monotonic() + TOLD_WITHIN_SECONDS
        while self._rest.count(b"\n") < count:
            readable, _, _ = select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))
            assert readable, f"{count} lines were expected and only these came: {self._rest!r}"
            self._rest += os.read(self._descriptor, 1 << 16)
        *found, self._rest = self._rest.split(b"\n", count)
        return [line.decode() for line in found]

    def say(self, line: str) -> None:
        """Write a line to whoever reads it first."""
        os.write(self._descriptor, f"{line}\n".encode())

    def close(self) -> None:
        """Let everybody who reads meet the end; closing twice does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
