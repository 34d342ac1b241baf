"""The server's API as its owner's programs use it."""

import fcntl
import http.client
import json
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self, cast
from urllib.parse import quote, urlencode

from mcp_agent import __version__
from mcp_agent.errors import BadConfiguration, BadRequest, McpAgentError, RemoteError, ServerUnreachable
from mcp_agent.server.starting import is_listening, start_server
from mcp_agent.state import StateDirectory

ANSWERS_WITHIN = timedelta(seconds=30)
"""For requests that wait for nothing."""

Json = dict[str, object]

_SAFE_IN_PATHS = "/?=&%:.~"


@dataclass(slots=True)
class Client:
    """An owner's view of the server of a state directory. Each request has a connection of its own."""

    state: StateDirectory
    _owner_token: str | None = field(repr=False)
    started: bool = False
    """This very client started the server."""
    server: Json = field(default_factory=dict)
    """What the server said about itself when the connection was made."""

    @classmethod
    def connect(cls, state: StateDirectory, *, start: bool = True, environ: Mapping[str, str] = os.environ) -> Self:
        """A client of the running server.

        With `start`, a server is started when none answers, and one that is stopping or has another version is
        replaced. Raises `ServerUnreachable`, `ServerStartFailed`, or `BadConfiguration` when the state directory cannot
        be used.
        """
        try:
            client = cls._greeted(state)
        except ServerUnreachable:
            if not start:
                raise
        else:
            if not start or client._is_current():
                return client
            client._stop_server()
        started = start_server(state, environ)
        client = cls._greeted(state)
        client.started = started
        return client

    @classmethod
    def _greeted(cls, state: StateDirectory) -> Self:
        listening = is_listening(state)
        # The token after that look: a server makes its owner's token before it listens.
        client = cls(state, _token(state))
        if not listening:
            raise ServerUnreachable(state.server_socket, "nobody listens there")
        client.server = client.get("/server")
        return client

    def _is_current(self) -> bool:
        return self.server.get("version") == __version__ and not self.server.get("stopping")

    def _stop_server(self) -> None:
        with suppress(ServerUnreachable):
            self.post("/server/stop", waits=True)
        self.wait_until_gone()

    def get(self, path: str, **query: str) -> Json:
        return self._request("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, body: Mapping[str, object] | None = None, *, waits: bool = False) -> Json:
        """`waits` is for requests whose answer may take as long as it takes: no limit of ours cuts them."""
        return self._request("POST", path, body=body or {}, waits=waits)

    def delete(self, path: str) -> Json:
        """Answers when the clean-up of what was cancelled is over."""
        return self._request("DELETE", path, waits=True)

    def call_tool(self, path: str, arguments: Mapping[str, object], *, call_id: str) -> Json:
        """One tool call. Leaving it, by whatever way, cancels its work."""
        return self._request("POST", path, body=arguments, waits=True, headers={"X-Call-Id": call_id})

    def wait(self, path: str) -> Json:
        """A GET whose answer comes when what it asks about has happened."""
        return self._request("GET", path, waits=True)

    def _request(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        waits: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """One exchange. However it ends, its connection is closed, which takes back what the server does for it."""
        connection = _UnixConnection(self.state.server_socket, timeout=None if waits else ANSWERS_WITHIN)
        headers = {"Content-Type": "application/json", **(headers or {})}
        if self._owner_token is not None:
            headers["Authorization"] = f"Bearer {self._owner_token}"
        connected = False
        try:
            connection.connect()
            connected = True
            content = None if body is None else json.dumps(body, ensure_ascii=False).encode()
            connection.request(method, quote(path, safe=_SAFE_IN_PATHS), content, headers)
            response = connection.getresponse()
            return _answer(response.status, response.read())
        except (OSError, http.client.HTTPException) as error:
            problem = str(error) or type(error).__name__
            raise ServerUnreachable(self.state.server_socket, problem, asked=connected) from error
        except UnicodeEncodeError as error:
            raise BadRequest(f"not valid Unicode: {error.object[error.start : error.end]!r}") from error
        finally:
            connection.close()

    def wait_until_gone(self) -> None:
        """Return once the server that was told to stop has let go of its lock, so that another one may start."""
        with suppress(FileNotFoundError):
            descriptor = os.open(self.state.lock, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        """Nothing is open between requests."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _UnixConnection(http.client.HTTPConnection):
    """HTTP on a unix socket."""

    def __init__(self, path: Path, *, timeout: timedelta | None) -> None:
        super().__init__("mcp-agent", timeout=timeout.total_seconds() if timeout else None)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def exit_code_of(error: McpAgentError) -> int:
    """The exit code that says this error, on whichever side it was raised."""
    return error.remote_exit_code if isinstance(error, RemoteError) else error.exit_code


def limit_warnings(server: Mapping[str, object]) -> list[str]:
    """What a server says of limits that it could not take as they stand."""
    warnings = server.get("warnings")
    return [str(warning) for warning in warnings] if isinstance(warnings, list) else []


def _token(state: StateDirectory) -> str | None:
    try:
        return state.read_owner_token()
    except OSError as error:
        raise BadConfiguration(state.root, f"cannot be used: {error.strerror or error}") from error


def _answer(status: int, content: bytes) -> Json:
    try:
        body = cast("Json", json.loads(content or b"{}"))
    except ValueError:
        body = {}
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return body
    error = cast("Json", body.get("error", {}))
    raise RemoteError(
        str(error.get("kind", "HttpError")),
        str(error.get("message", f"the server answered {status}")),
        exit_code=int(str(error.get("exit_code", 1))),
        fields=error,
    )
