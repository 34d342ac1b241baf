"""A store in a file of its own, and a second program that gets in its way."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent.sessions.store.store import SessionStore


@pytest.fixture
def anyio_backend() -> str:
    """A store takes real time."""
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sessions.sqlite"


@pytest.fixture
def open_store(path: Path) -> Iterator[Callable[[], SessionStore]]:
    """Opens the file once more, as the next server does after one that was killed."""
    opened: list[SessionStore] = []

    def open_once_more() -> SessionStore:
        opened.append(SessionStore.open(path))
        return opened[-1]

    yield open_once_more
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Callable[[], SessionStore]) -> SessionStore:
    return open_store()


@pytest.fixture
def other(store: SessionStore) -> Iterator[sqlite3.Connection]:
    """Another process that has the file open."""
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        yield connection
