"""The executions of one server, and the engine that its configuration asks for."""

import hashlib
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from mcp_agent.config import DATABASE_VARIABLE, Config
from mcp_agent.errors import BadConfiguration
from mcp_agent.executions.dbos_engine import DbosSettings, dbos_engine
from mcp_agent.executions.engine import OpenEngine
from mcp_agent.state import StateDirectory

_SCHEMES = frozenset({"postgresql", "postgres"})


def engine_of(state: StateDirectory, config: Config, environ: Mapping[str, str]) -> OpenEngine:
    """The engine, not opened yet. Raises `BadConfiguration` for a database that is none of ours."""
    url = environ.get(DATABASE_VARIABLE) or config.executions.database_url
    executor_id = hashlib.sha256(os.fsencode(state.root)).hexdigest()[:12]
    if url is None:
        _make_private(state)
        where, shown = f"sqlite:///{state.engine}", str(state.engine)
    else:
        where, shown = _checked(url), _shown(url)
    return dbos_engine(DbosSettings(where, shown, executor_id, config.executions.concurrency))


def _make_private(state: StateDirectory) -> None:
    os.close(os.open(state.engine, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


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
