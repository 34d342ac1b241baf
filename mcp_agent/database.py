"""A private SQLite file of ours: how it is made, opened and kept private, and what can be wrong with it.

Several processes may have one file open. A file that is not ours, is damaged or is of a newer version is refused and
left as it is. SQLite gives `-wal` and `-shm` the mode of the file beside them.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from mcp_agent.errors import McpAgentError

LOCK_LIMIT = timedelta(seconds=2)
"""How long one process waits for another to finish writing; each holds the lock for milliseconds."""

SWITCH_PAUSE = timedelta(milliseconds=5)

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
    "SQLITE_NOTADB": "it is another program's file, or damaged, and was left as it is; move it away to start a new one",
}


@dataclass(frozen=True, slots=True)
class Database:
    """One kind of file. `unusable` makes the error that is raised for every trouble, from the path and the problem."""

    application_id: int
    """Tells this kind from every other program's databases."""
    schema_version: int
    """Raised when older programs cannot read the tables any more."""
    schema: Sequence[str]
    unusable: Callable[[Path, str], McpAgentError]

    def open_for_writing(self, path: Path) -> sqlite3.Connection:
        """A connection to the file, which is made 0600 when it is not there yet."""
        with self.translated(path):
            self._make_private(path)
            connection = _connect(f"{path.absolute().as_uri()}?mode=rw")
            with _closed_on_error(connection):
                fresh = self._is_fresh(connection, path)
                if _switch_to_wal(connection) != "wal":
                    raise self.unusable(
                        path, "its file system cannot share memory; put the state directory on a local disk"
                    )
                connection.execute("PRAGMA secure_delete = ON")
                if fresh:
                    self._create(connection, path)
            return connection

    def open_for_reading(self, path: Path) -> sqlite3.Connection:
        """A connection that changes nothing; a file that is not there yet reads as an empty one."""
        with self.translated(path):
            if not path.exists():
                return self._empty()
            if not path.is_file():
                raise self.unusable(path, "it is not a regular file")
            connection = _connect(f"{path.absolute().as_uri()}?mode=ro")
            with _closed_on_error(connection):
                if not self._is_fresh(connection, path):
                    return connection
            connection.close()
            return self._empty()

    @contextmanager
    def translated(self, path: Path) -> Iterator[None]:
        """Trouble with the file as the error that its users know."""
        try:
            yield
        except sqlite3.Error as error:
            raise self.unusable(path, _problem(error)) from error
        except OSError as error:
            raise self.unusable(path, error.strerror or str(error)) from error

    def _make_private(self, path: Path) -> None:
        # An existing file is never opened here: closing it would drop the locks this process holds on it elsewhere.
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            found = path.stat()
            if not stat.S_ISREG(found.st_mode):
                raise self.unusable(path, "it is not a regular file") from None
            if stat.S_IMODE(found.st_mode) & 0o077:
                path.chmod(0o600)

    def _is_fresh(self, connection: sqlite3.Connection, path: Path) -> bool:
        """Whether the file is still empty; raises when what it holds is not for us."""
        application, version, tables = connection.execute(_WHOSE).fetchone()
        if application == self.application_id and version > self.schema_version:
            raise self.unusable(path, f"a newer version of mcp-agent wrote it (schema {version}); upgrade this one")
        if application == self.application_id and version < self.schema_version:
            problem = f"an older version of mcp-agent wrote it (schema {version}), which this one cannot read"
            raise self.unusable(path, f"{problem}; move it away to start a new one")
        if application != self.application_id and (application or version or tables):
            raise self.unusable(path, "it is another program's database, and was left as it is")
        return not tables

    def _create(self, connection: sqlite3.Connection, path: Path) -> None:
        with transaction(connection):
            # Another process may have been first.
            for statement in self._statements() if self._is_fresh(connection, path) else ():
                connection.execute(statement)

    def _empty(self) -> sqlite3.Connection:
        connection = _connect("file::memory:")
        for statement in self._statements():
            connection.execute(statement)
        return connection

    def _statements(self) -> Iterator[str]:
        yield from self.schema
        yield f"PRAGMA application_id = {self.application_id}"
        yield f"PRAGMA user_version = {self.schema_version}"


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """What is executed within is written as a whole or not at all. Raises what SQLite raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        # Some errors, a full disk among them, have rolled back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _problem(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "")
    return next((said for known, said in _PROBLEMS.items() if name.startswith(known)), str(error))


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, timeout=LOCK_LIMIT.total_seconds(), isolation_level=None, check_same_thread=False
    )


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


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise
