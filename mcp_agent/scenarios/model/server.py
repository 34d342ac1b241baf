"""The scripted model as a server on a loopback port that the kernel chose."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import anyio
import uvicorn

from mcp_agent.scenarios.model.app import build_app
from mcp_agent.scenarios.model.failures import Refusal
from mcp_agent.scenarios.model.journal import Journal, RecordedRequest

LOOPBACK_KEY = "sk-test-loopback"
"""The key of a server that gives access to nothing but itself."""

_SHUTDOWN_GRACE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """A running scripted model."""

    base_url: str
    """Scheme, host and port, without a path."""
    api_key: str = field(repr=False)
    journal: Journal = field(repr=False)

    @property
    def requests(self) -> list[RecordedRequest]:
        """Every answered request so far, oldest first."""
        return self.journal.requests

    def refuse_with(self, refusal: Refusal | int | None) -> None:
        """Refuses every later request so, or with this HTTP status; None answers again."""
        self.journal.refusal = Refusal(refusal) if isinstance(refusal, int) else refusal

    @classmethod
    @asynccontextmanager
    async def serve(
        cls, *, api_key: str = LOOPBACK_KEY, port: int = 0, journal: Journal | None = None
    ) -> AsyncIterator["ScriptedModel"]:
        """Runs inside the caller's asyncio loop; the port is closed and every connection ended when it returns.

        With the `port` and the `journal` of one that was served before, it comes back where that one was.
        """
        journal = Journal() if journal is None else journal
        with _loopback_socket(port) as listener:
            port = listener.getsockname()[1]
            server = _Server(_config(journal, api_key))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(server.serve, [listener])
                try:
                    await server.ready.wait()
                    yield cls(f"http://127.0.0.1:{port}", api_key, journal)
                finally:
                    server.should_exit = True


def _config(journal: Journal, api_key: str) -> uvicorn.Config:
    return uvicorn.Config(
        build_app(journal, api_key=api_key),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_SHUTDOWN_GRACE // timedelta(seconds=1),
    )


@contextmanager
def _loopback_socket(port: int) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(socket.SOMAXCONN)
        yield listener


class _Server(uvicorn.Server):
    """A guest in somebody's loop: it leaves the process's signals alone and tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = anyio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()
