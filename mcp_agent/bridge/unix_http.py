"""One HTTP/1.1 request at a time on a unix socket, each on a connection of its own."""

import socket
import threading
import time
from contextlib import suppress

LARGEST_BODY = 64 * 1024 * 1024
_LONGEST_HEAD_LINE = 64 * 1024


class ExchangeError(Exception):
    """An exchange that brought no answer; the leaves say how far it came."""


class NotSent(ExchangeError):
    """The request never left as a whole: nothing can have happened because of it."""


class ConnectionLost(ExchangeError):
    """The request left and no whole answer came back."""


class DeadlinePassed(ExchangeError):
    """The answer was not there in time."""


class Response:
    __slots__ = ("body", "status")

    def __init__(self, status: int, body: bytes) -> None:
        self.status, self.body = status, body


class Exchange:
    """One thread connects, asks and closes; any other may `abandon`, which ends all of that at once and for good."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._abandoned = threading.Event()
        self._socket: socket.socket | None = None

    def connect(self, path: str) -> None:
        """Connect without waiting: BlockingIOError when the server's queue is full, another OSError for no server."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(1)  # any timeout makes a full queue an error instead of an endless wait
        with self._lock:
            self._socket = connection
            if self._abandoned.is_set():
                raise NotSent("the request was cancelled before it was sent")
        connection.connect(path)

    def ask(self, request: bytes, deadline: float) -> Response:
        """Send once and read the whole answer until `deadline`, which is monotonic. Never sends twice."""
        connection = self._socket
        if connection is None:
            raise NotSent("there is no connection")
        left_seconds = deadline - time.monotonic()
        if left_seconds <= 0:
            raise NotSent("the time for it was over before it could be sent")
        try:
            connection.settimeout(left_seconds)
            connection.sendall(request)
        except TimeoutError as error:
            raise DeadlinePassed("the server did not take the request in time") from error
        except OSError as error:
            raise NotSent(f"the server closed the connection while the request was being sent ({error})") from error
        return _Reader(connection, deadline).response()

    def abandon(self) -> None:
        with self._lock:
            self._abandoned.set()
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)

    def abandoned_within(self, limit_seconds: float) -> bool:
        return self._abandoned.wait(limit_seconds)

    def close(self) -> None:
        """Close the connection, which asks the server to cancel what it still does for it."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            self._socket = None


def encode_request(method: str, path: str, *, headers: dict[str, str], body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: mcp-agent", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


class _Reader:
    """Reads one response. Anything that is not one whole response counts as a lost connection."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection, self._deadline = connection, deadline
        self._buffer = bytearray()

    def response(self) -> Response:
        try:
            status = int(self._line().split(b" ", 2)[1])
            headers = self._headers()
            if status == 204:
                return Response(status, b"")
            if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
                return Response(status, self._chunks())
            return Response(status, self._exactly(int(headers[b"content-length"])))
        except (ValueError, IndexError, KeyError) as error:
            raise ConnectionLost("the answer was not understood") from error

    def _headers(self) -> dict[bytes, bytes]:
        headers = {}
        while line := self._line():
            name, _, value = line.partition(b":")
            headers[name.strip().lower()] = value.strip()
        return headers

    def _chunks(self) -> bytes:
        body = bytearray()
        while size := int(self._line().partition(b";")[0], 16):
            if len(body) + size > LARGEST_BODY:
                raise ConnectionLost("the answer is too large")
            body += self._exactly(size)
            self._line()
        return bytes(body)

    def _line(self) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > _LONGEST_HEAD_LINE:
                raise ConnectionLost("the answer was not understood")
            self._receive()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line.rstrip(b"\r")

    def _exactly(self, size: int) -> bytes:
        if not 0 <= size <= LARGEST_BODY:
            raise ConnectionLost("the answer is too large")
        while len(self._buffer) < size:
            self._receive()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _receive(self) -> None:
        left_seconds = self._deadline - time.monotonic()
        if left_seconds <= 0:
            raise DeadlinePassed("no answer in time")
        try:
            self._connection.settimeout(left_seconds)
            data = self._connection.recv(1 << 16)
        except TimeoutError as error:
            raise DeadlinePassed("no answer in time") from error
        except OSError as error:
            raise ConnectionLost(f"the connection broke ({error})") from error
        if not data:
            raise ConnectionLost("the connection was closed before the answer was complete")
        self._buffer += data
