"""A stream kept in a file of bounded size: its beginning, its end, and the exact number of bytes in between."""

import os
from pathlib import Path


class Capture:
    """Takes a stream of any length, whatever becomes of the disk. The file holds all of it up to `max_bytes`.

    Of a longer stream the file holds the first half and the last half of `max_bytes`; the last half is written round
    and round, and put in order by `close`. A disk that takes less makes both halves smaller. No method raises.
    """

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self.total_bytes = 0
        self.problem: str | None = None
        """Why the file holds less than it should."""
        self._tail_bytes = max(1, max_bytes // 2)
        self._head_bytes = max(1, max_bytes) - self._tail_bytes
        self._taken = 0
        self._file: int | None = None
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self._fail(error)

    @property
    def omitted_bytes(self) -> int:
        """Bytes of the stream that the closed file does not hold."""
        return self.total_bytes - min(self._taken, self._head_bytes + self._tail_bytes)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        self.total_bytes += len(view)
        while view and self._file is not None:
            view = view[self._write_part(self._file, view) :]

    def _write_part(self, file: int, view: memoryview) -> int:
        at, room = self._taken, self._head_bytes - self._taken
        if room <= 0:
            beyond = -room % self._tail_bytes
            at, room = self._head_bytes + beyond, self._tail_bytes - beyond
        try:
            written = os.pwrite(file, view[:room], at)
        except OSError as error:
            self._fail(error)
            return 0
        self._taken += written
        return written

    def _fail(self, error: OSError) -> None:
        """Go on in the space that there is; without any, or when what was written cannot be written over, stop."""
        self.problem = error.strerror
        if 1 < self._taken < self._head_bytes + self._tail_bytes:
            self._head_bytes = min(self._head_bytes, self._taken - self._taken // 2)
            self._tail_bytes = self._taken - self._head_bytes
        else:
            self._leave()

    def close(self) -> None:
        """Put the file in order."""
        if self._file is None:
            return
        if not os.fstat(self._file).st_nlink:
            self.problem = "the file of the output was deleted"
        try:
            self._put_in_order(self._file)
        except OSError as error:
            self.problem = error.strerror
        self._leave()

    def _put_in_order(self, file: int) -> None:
        beyond = self._taken - self._head_bytes
        if beyond > self._tail_bytes:
            tail, oldest = os.pread(file, self._tail_bytes, self._head_bytes), beyond % self._tail_bytes
            os.pwrite(file, tail[oldest:], self._head_bytes)
            os.pwrite(file, tail[:oldest], self._head_bytes + self._tail_bytes - oldest)

    def _leave(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = None
