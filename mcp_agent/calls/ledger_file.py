"""The file of the ledger: how it is made, opened and kept private, and what can be wrong with it.

One table holds every fact; rows are added, and removed only by pruning. SQLite gives `-wal` and `-shm` the mode of
the file beside them.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from mcp_agent.errors import LedgerUnusable

SCHEMA_VERSION = 1
"""Raised when older programs cannot read the tables any more; a new kind of fact is no reason."""

APPLICATION_ID = 0x6D63616C
"""Tells this file from other programs' databases: `mcal`."""

LOCK_LIMIT = timedelta(seconds=2)
"""How long one process waits for another to finish writing; each holds the lock for milliseconds."""

SWITCH_PAUSE = timedelta(milliseconds=5)

SESSION, TOOL, DIGEST = (f"json_extract(facts, '$.{name}')" for name in ("session_id", "tool", "digest"))
KNOWN = "kind = 'outcome' AND json_extract(facts, '$.happened') <> 'unknown'"
LATE = "kind = 'outcome' AND json_extract(facts, '$.late')"
# Queries repeat these expressions to the letter: that is how SQLite finds the index.

_SCHEMA = (
    "CREATE TABLE events (seq INTEGER PRIMARY KEY, call_id TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,"
    " facts TEXT NOT NULL)",
    "CREATE INDEX facts_of_a_call ON events (call_id)",
    "CREATE UNIQUE INDEX one_intent ON events (call_id) WHERE kind = 'intent'",
    f"CREATE INDEX identical_calls ON events ({SESSION}, {TOOL}, {DIGEST}) WHERE kind = 'intent'",
    "CREATE INDEX ended_waits ON events (call_id) WHERE kind = 'wait_ended'",
    f"CREATE INDEX known_outcomes ON events (call_id) WHERE {KNOWN}",
    f"CREATE INDEX late_outcomes ON events (call_id) WHERE {LATE}",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)

_WHOSE = (
    "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
    " FROM pragma_application_id, pragma_user_version"
)
"""One statement, so that a file that another process is just making is seen before or after, and never between."""

_PROBLEMS = {
    "SQLITE_FULL": "the disk is full; free some space",
    "SQLITE_READONLY": "it cannot be written",
    "SQLITE_CANTOPEN": "it cannot be opened",
    "SQLITE_BUSY": "another process holds its lock",
    "SQLITE_IOERR": "the disk reports an error",
    "SQLITE_CORRUPT": "it is damaged, and was left as it is; move it away to start a new one",
    "SQLITE_NOTADB": "it is no ledger, or damaged, and was left as it is; move it away to start a new one",
}


def open_for_writing(path: Path) -> sqlite3.Connection:
    """A connection to the file, which is made 0600 when it is not there yet.

    Raises `LedgerUnusable`; a file that is not ours, damaged or of a newer version is not touched.
    """
    with translated(path):
        _make_private(path)
        connection = _connect(f"{path.absolute().as_uri()}?mode=rw")
        with _closed_on_error(connection):
            fresh = _is_fresh(connection, path)
            if _switch_to_wal(connection) != "wal":
                raise LedgerUnusable(
                    path, "its file system cannot share memory; put the state directory on a local disk"
                )
            connection.execute("PRAGMA secure_delete = ON")
            if fresh:
                _create(connection, path)
        return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that changes no fact; a file that is not there yet reads as an empty one.

    Raises `LedgerUnusable`.
    """
    with translated(path):
        if not path.exists():
            return _empty()
        if not path.is_file():
            raise LedgerUnusable(path, "it is not a regular file")
        connection = _connect(f"{path.absolute().as_uri()}?mode=ro")
        with _closed_on_error(connection):
            if not _is_fresh(connection, path):
                return connection
        connection.close()
        return _empty()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Trouble with the file as `LedgerUnusable`."""
    try:
        yield
    except sqlite3.Error as error:
        raise LedgerUnusable(path, _problem(error)) from error
    except OSError as error:
        raise LedgerUnusable(path, error.strerror or str(error)) from error


def _problem(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    return next((said for known, said in _PROBLEMS.items() if name.startswith(known)), str(error))


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, timeout=LOCK_LIMIT.total_seconds(), isolation_level=None, check_same_thread=False
    )


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _switch_to_wal(connection: sqlite3.Connection) -> str:
    """The journal mode after asking for WAL, which a file keeps.

    SQLite's own waiting does not cover this switch: of two processes that make one file, one is told at once that the
    other holds the lock.
    """
    give_up = time.monotonic() + LOCK_LIMIT.total_seconds()
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= give_up:
                raise
        time.sleep(SWITCH_PAUSE.total_seconds())


def _make_private(path: Path) -> None:
    # An existing file is never opened here: closing it would drop the locks that this process holds on it elsewhere.
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise LedgerUnusable(path, "it is not a regular file") from None
        if stat.S_IMODE(found.st_mode) & 0o077:
            path.chmod(0o600)


def _is_fresh(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is still empty; raises `LedgerUnusable` when what it holds is not for us."""
    application, version, tables = connection.execute(_WHOSE).fetchone()
    if application == APPLICATION_ID and version > SCHEMA_VERSION:
        raise LedgerUnusable(path, f"a newer version of mcp-agent wrote it (schema {version}); upgrade this one")
    if application != APPLICATION_ID and (application or version or tables):
        raise LedgerUnusable(path, "it is another program's database, and was left as it is")
    return not tables


def _create(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have been first.
        for statement in _SCHEMA if _is_fresh(connection, path) else ():
            connection.execute(statement)
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _empty() -> sqlite3.Connection:
    connection = _connect("file::memory:")
    for statement in _SCHEMA:
        connection.execute(statement)
    return connection
