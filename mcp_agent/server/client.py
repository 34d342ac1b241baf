"""The server's API as its owner's programs use it."""

import fcntl
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import Self, cast

import httpx

from mcp_agent import __version__
from mcp_agent.errors import BadConfiguration, BadRequest, McpAgentError, RemoteError, ServerUnreachable
from mcp_agent.server.starting import start_server
from mcp_agent.state import StateDirectory

ANSWERS_WITHIN = timedelta(seconds=30)
"""For requests that wait for nothing."""

Json = dict[str, object]


@dataclass(slots=True)
class Client:
    """One owner's connection to the server of a state directory."""

    state: StateDirectory
    _http: httpx.Client = field(repr=False)
    started: bool = False
    """This very client started the server."""
    server: Json = field(default_factory=dict)
    """What the server said about itself when the connection was made."""

    @classmethod
    def connect(cls, state: StateDirectory, *, start: bool = True, environ: Mapping[str, str] = os.environ) -> Self:
        """A client of the running server.

        With `start`, a server is started when none answers, and one of another version is replaced. Raises
        `ServerUnreachable`, `ServerStartFailed`, or `BadConfiguration` when the state directory cannot be used.
        """
        try:
            client = cls._greeted(state)
        except ServerUnreachable:
            if not start:
                raise
        else:
            if not start or client.server.get("version") == __version__:
                return client
            client._stop_server()
        started = start_server(state, environ)
        client = cls._greeted(state)
        client.started = started
        return client

    @classmethod
    def _greeted(cls, state: StateDirectory) -> Self:
        client = cls(state, _http(state))
        try:
            client.server = client.get("/server")
        except BaseException:
            client.close()
            raise
        return client

    def _stop_server(self) -> None:
        with self:
            self.post("/server/stop", waits=True)
            self.wait_until_gone()

    def get(self, path: str, **query: str) -> Json:
        return self._request("GET", path, query=query)

    def post(self, path: str, body: Mapping[str, object] | None = None, *, waits: bool = False) -> Json:
        """`waits` is for requests whose answer may take as long as it takes: no limit of ours cuts them."""
        return self._request("POST", path, body=body or {}, waits=waits)

    def wait(self, path: str) -> Json:
        """A GET whose answer comes when what it asks about has happened."""
        return self._request("GET", path, waits=True)

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, object] | None = None,
        waits: bool = False,
    ) -> Json:
        timeout = None if waits else ANSWERS_WITHIN.total_seconds()
        try:
            response = self._http.request(method, path, params=query, json=body, timeout=timeout)
        except httpx.HTTPError as error:
            raise ServerUnreachable(self.state.server_socket, str(error) or type(error).__name__) from error
        except UnicodeEncodeError as error:
            raise BadRequest(f"not valid Unicode: {error.object[error.start : error.end]!r}") from error
        return _answer(response)

    def wait_until_gone(self) -> None:
        """Return once the server that was told to stop has let go of its lock, so that another one may start."""
        with suppress(FileNotFoundError):
            descriptor = os.open(self.state.lock, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def exit_code_of(error: McpAgentError) -> int:
    """The exit code that says this error, on whichever side it was raised."""
    return error.remote_exit_code if isinstance(error, RemoteError) else error.exit_code


def _http(state: StateDirectory) -> httpx.Client:
    try:
        token = state.read_owner_token() or ""
    except OSError as error:
        raise BadConfiguration(state.root, f"cannot be used: {error.strerror or error}") from error
    return httpx.Client(
        transport=httpx.HTTPTransport(uds=str(state.server_socket)),
        base_url="http://mcp-agent",
        headers={"Authorization": f"Bearer {token}"},
        timeout=ANSWERS_WITHIN.total_seconds(),
        trust_env=False,
    )


def _answer(response: httpx.Response) -> Json:
    try:
        body = cast("Json", response.json()) if response.content else {}
    except ValueError:
        body = {}
    if response.is_success:
        return body
    error = cast("Json", body.get("error", {}))
    raise RemoteError(
        str(error.get("kind", "HttpError")),
        str(error.get("message", f"the server answered {response.status_code}")),
        exit_code=int(str(error.get("exit_code", 1))),
        fields=error,
    )
