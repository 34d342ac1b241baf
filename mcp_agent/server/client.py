"""The server's API as its owner's programs use it."""

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self, cast

import httpx

from mcp_agent.errors import RemoteError, ServerUnreachable
from mcp_agent.server.starting import start_server
from mcp_agent.state import StateDirectory

ANSWERS_WITHIN = timedelta(seconds=30)
"""For requests that wait for nothing."""

Json = dict[str, object]


@dataclass(slots=True)
class Client:
    """One owner's connection to the server of a state directory."""

    state: StateDirectory
    _http: httpx.Client

    @classmethod
    def connect(cls, state: StateDirectory, *, start: bool = True, environ: Mapping[str, str] = os.environ) -> Self:
        """A client of the running server, which is started when none answers and `start` is set.

        Raises `ServerUnreachable`, or `ServerStartFailed`.
        """
        client = cls._to(state)
        try:
            client.get("/server")
        except ServerUnreachable:
            client.close()
            if not start:
                raise
            start_server(state, environ)
            client = cls._to(state)
            client.get("/server")
        return client

    @classmethod
    def _to(cls, state: StateDirectory) -> Self:
        return cls(
            state,
            httpx.Client(
                transport=httpx.HTTPTransport(uds=str(state.server_socket)),
                base_url="http://mcp-agent",
                headers={"Authorization": f"Bearer {state.read_owner_token() or ''}"},
                timeout=ANSWERS_WITHIN.total_seconds(),
                trust_env=False,
            ),
        )

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
        return _answer(response)

    def wait_until_gone(self) -> None:
        """Return once the server that was told to stop has let go of its lock, so that another one may start."""
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


def _answer(response: httpx.Response) -> Json:
    body = cast("Json", response.json()) if response.content else {}
    if response.is_success:
        return body
    error = cast("Json", body.get("error", {}))
    raise RemoteError(
        str(error.get("kind", "HttpError")),
        str(error.get("message", f"the server answered {response.status_code}")),
        exit_code=int(str(error.get("exit_code", 1))),
        fields=error,
    )
