"""A stream kept in a file of bounded size: its beginning, its end, and the exact number of bytes in between."""

import os
from pathlib import Path

COPY_BYTES = 1 << 20


class Capture:
    """Takes a stream of any length in constant memory. The file holds all of it up to `max_bytes`.

    Of a longer stream the file holds the first half and the last half of `max_bytes`. The last half is written round
    and round in a file beside it, which `close` appends in order.
    """

    def __init__(self, path: Path, *, max_bytes: int) -> None:
        self._ring_path = path.with_name(path.name + ".ring")
        self._ring_bytes = max(1, max_bytes // 2)
        self._head_bytes = max(1, max_bytes) - self._ring_bytes
        self._head = _create(path)
        self._ring: int | None = None
        self.total_bytes = 0

    @property
    def omitted_bytes(self) -> int:
        """Bytes of the stream that the closed file does not hold."""
        return max(0, self.total_bytes - self._head_bytes - self._ring_bytes)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[self._write_part(view) :]

    def _write_part(self, view: memoryview) -> int:
        beyond = self.total_bytes - self._head_bytes
        if beyond < 0:
            written = os.pwrite(self._head, view[:-beyond], self.total_bytes)
        else:
            at = beyond % self._ring_bytes
            written = os.pwrite(self._open_ring(), view[: self._ring_bytes - at], at)
        self.total_bytes += written
        return written

    def _open_ring(self) -> int:
        if self._ring is None:
            self._ring = _create(self._ring_path)
        return self._ring

    def close(self) -> None:
        """Put the file in order."""
        if self._ring is not None:
            kept = min(self.total_bytes - self._head_bytes, self._ring_bytes)
            oldest = (self.total_bytes - self._head_bytes) % self._ring_bytes if self.omitted_bytes else 0
            self._append(self._ring, start=oldest, stop=kept, at=self._head_bytes)
            self._append(self._ring, start=0, stop=oldest, at=self._head_bytes + kept - oldest)
            os.close(self._ring)
            self._ring_path.unlink()
        os.close(self._head)

    def _append(self, ring: int, *, start: int, stop: int, at: int) -> None:
        position = start
        while position < stop:
            data = os.pread(ring, min(COPY_BYTES, stop - position), position)
            position += os.pwrite(self._head, data, at + position - start)


def _create(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
