"""HTTP/1.1 on a unix socket, one request at a time on each connection."""

import socket
import time
from collections.abc import Callable, Generator
from contextlib import suppress

from .loop import WRITABLE, Wait

LARGEST_BODY = 64 * 1024 * 1024
_LONGEST_HEAD_LINE = 64 * 1024
_AT_ONCE = 1 << 16


class ExchangeError(Exception):
    """An exchange that brought no answer; the leaves say how far it came."""


class NotSent(ExchangeError):
    """The request never left as a whole: nothing can have happened because of it."""


class ConnectionLost(ExchangeError):
    """The request left and no whole answer came back."""


class DeadlinePassed(ExchangeError):
    """The answer was not there in time."""


class Response:
    __slots__ = ("body", "kept_seconds", "status")

    def __init__(self, status: int, body: bytes, *, kept_seconds: float = 0.0) -> None:
        self.status, self.body, self.kept_seconds = status, body, kept_seconds


class Connection:
    """A connection to the server. Closing it asks the server to cancel what it still does for it."""

    def __init__(self, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Connect without waiting: BlockingIOError when the server's queue is full, another OSError for no server."""
        self._clock = clock
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._usable_until = 0.0
        self._socket.setblocking(False)
        try:
            self._socket.connect(path)
        except BaseException:
            self.close()
            raise

    def ask(self, request: bytes, deadline: float) -> Generator[Wait, bool, Response]:
        """Send once and read the whole answer until `deadline`, which is monotonic. Never sends twice."""
        self._usable_until = 0.0
        if time.monotonic() >= deadline:
            raise NotSent("the time for it was over before it could be sent")
        yield from self._send(request, deadline)
        reader = _Reader(self._socket, deadline)
        response = yield from reader.response()
        if response.kept_seconds and reader.is_empty:
            self._usable_until = self._clock() + response.kept_seconds / 2
        return response

    @property
    def is_kept(self) -> bool:
        """Whether the server said that it goes on to listen here, and half of the time that it gave is not over."""
        return self._clock() < self._usable_until

    def is_usable(self) -> bool:
        """Whether one more request is as sure to be read as on a new connection: the server did nothing since."""
        if not self.is_kept:
            return False
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self._socket.close()

    def _send(self, request: bytes, deadline: float) -> Generator[Wait, bool, None]:
        rest = memoryview(request)
        try:
            while rest:
                with suppress(BlockingIOError):
                    rest = rest[self._socket.send(rest) :]
                if rest and not (yield Wait(self._socket.fileno(), WRITABLE, until=deadline)):
                    raise DeadlinePassed("the server did not take the request in time")
        except OSError as error:
            raise NotSent(f"the server closed the connection while the request was being sent ({error})") from error


def encode_request(method: str, path: str, *, headers: dict[str, str], body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: mcp-agent", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class _Reader:
    """Reads one response. Anything that is not one whole response counts as a lost connection."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection, self._deadline = connection, deadline
        self._buffer = bytearray()

    @property
    def is_empty(self) -> bool:
        return not self._buffer

    def response(self) -> Generator[Wait, bool, Response]:
        try:
            status = int((yield from self._line()).split(b" ", 2)[1])
            headers = yield from self._headers()
            kept_seconds = _kept_seconds(headers)
            if status == 204:
                return Response(status, b"", kept_seconds=kept_seconds)
            if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
                return Response(status, (yield from self._chunks()))
            body = yield from self._exactly(int(headers[b"content-length"]))
            return Response(status, body, kept_seconds=kept_seconds)
        except (ValueError, IndexError, KeyError) as error:
            raise ConnectionLost("the answer was not understood") from error

    def _headers(self) -> Generator[Wait, bool, dict[bytes, bytes]]:
        headers = {}
        while line := (yield from self._line()):
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip()
        return headers

    def _chunks(self) -> Generator[Wait, bool, bytes]:
        body = bytearray()
        while size := int((yield from self._line()).partition(b";")[0], 16):
            if len(body) + size > LARGEST_BODY:
                raise ConnectionLost("the answer is too large")
            body += yield from self._exactly(size)
            yield from self._line()
        return bytes(body)

    def _line(self) -> Generator[Wait, bool, bytes]:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _LONGEST_HEAD_LINE:
                raise ConnectionLost("the answer was not understood")
            yield from self._receive()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line.rstrip(b"\r")

    def _exactly(self, size: int) -> Generator[Wait, bool, bytes]:
        if not 0 <= size <= LARGEST_BODY:
            raise ConnectionLost("the answer is too large")
        while len(self._buffer) < size:
            yield from self._receive()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _receive(self) -> Generator[Wait, bool, None]:
        if not (yield Wait(self._connection.fileno(), until=self._deadline)):
            raise DeadlinePassed("no answer in time")
        try:
            data = self._connection.recv(_AT_ONCE)
        except BlockingIOError:
            return
        except OSError as error:
            raise ConnectionLost(f"the connection broke ({error})") from error
        if not data:
            raise ConnectionLost("the connection was closed before the answer was complete")
        self._buffer += data


def _kept_seconds(headers: dict[bytes, bytes]) -> float:
    """For how long the server promises to listen for one more request; 0 when it does not say so."""
    name, _, seconds = headers.get(b"keep-alive", b"").partition(b"=")
    promised = name == b"timeout" and seconds.isdigit() and headers.get(b"connection", b"").lower() != b"close"
    return float(int(seconds)) if promised else 0.0
