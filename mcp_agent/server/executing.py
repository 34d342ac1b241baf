"""The executions of one server, and the engine that its configuration asks for."""

import hashlib
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import anyio.to_thread

from mcp_agent.config import DATABASE_VARIABLE, Config
from mcp_agent.errors import BadConfiguration, EngineUnavailable
from mcp_agent.executions.dbos_engine import DbosSettings, dbos_engine
from mcp_agent.executions.engine import Engine, OpenEngine, Work
from mcp_agent.state import StateDirectory

_SCHEMES = frozenset({"postgresql", "postgres"})


def engine_of(state: StateDirectory, config: Config, environ: Mapping[str, str]) -> OpenEngine:
    """The engine, not opened yet. Raises `BadConfiguration` for a database that is none of ours."""
    url = environ.get(DATABASE_VARIABLE) or config.executions.database_url
    executor_id = hashlib.sha256(os.fsencode(state.root)).hexdigest()[:12]
    most = config.executions.concurrency
    if url is not None:
        return dbos_engine(DbosSettings(_checked(url), _shown(url), executor_id, most))
    settings = DbosSettings(f"sqlite:///{state.engine}", str(state.engine), executor_id, most, file=state.engine)
    return partial(_open_private, state.engine, dbos_engine(settings))


@asynccontextmanager
async def _open_private(path: Path, open_engine: OpenEngine, work: Work) -> AsyncGenerator[Engine]:
    try:
        await anyio.to_thread.run_sync(_make_private, path)
    except OSError as error:
        problem = f"{error.strerror or error}; move it away, and a new one is made"
        raise EngineUnavailable(str(path), problem) from error
    async with open_engine(work) as engine:
        yield engine


def _make_private(path: Path) -> None:
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not parts.path.strip("/"):
        raise BadConfiguration(
            "[executions] database_url", "must be postgresql://[user[:password]@]host[:port]/database"
        )
    return url.replace(f"{parts.scheme}://", "postgresql+psycopg://", 1)


def _shown(url: str) -> str:
    """The URL without what is secret in it."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return f"postgresql://{place}{parts.path}"
