"""What is known of one shared file: how it was, what we put in, and which sessions still need it. One file each, 0600.

It is on disk before the file itself is touched, so that a crash at any moment leaves enough to undo by.
"""

import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from mcp_agent.adapter import SharedFileEdit
from mcp_agent.state import StateDirectory, write_private

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """One addition of ours. `value` is JSON, so that the record holds it as it was."""

    keys: tuple[str, ...]
    value: str
    is_item: bool = False
    made: tuple[tuple[str, ...], ...] = ()
    holders: tuple[str, ...] = ()
    """Sessions that asked for it and were not closed since."""

    def is_for(self, edit: SharedFileEdit) -> bool:
        return (self.keys, self.is_item) == (edit.keys, edit.is_item) and json.loads(self.value) == edit.value


@dataclass(frozen=True, slots=True)
class SharedFile:
    """`original` is None when there was no file. Once somebody else changed the file it is not restored any more."""

    path: Path
    original: str | None
    directories: tuple[Path, ...] = ()
    """Those that we made for it, or for another file that lies in them, the outermost first."""
    written: tuple[str, ...] = ()
    """Digests of the texts that came from us."""
    changed: bool = False
    """Somebody else wrote it while our addition stood in it."""
    entries: tuple[Entry, ...] = ()

    def holding(self, edit: SharedFileEdit, session_id: str) -> "SharedFile | None":
        """With this session among those that need an addition that is ours; None when there is no such addition."""
        for place, entry in enumerate(self.entries):
            if entry.is_for(edit):
                held = replace(entry, holders=tuple(dict.fromkeys((*entry.holders, session_id))))
                return replace(self, entries=(*self.entries[:place], held, *self.entries[place + 1 :]))
        return None

    def without(self, session_id: str) -> "SharedFile":
        """Of the addition nothing is taken away yet."""
        left = (
            replace(entry, holders=tuple(holder for holder in entry.holders if holder != session_id))
            for entry in self.entries
        )
        return replace(self, entries=tuple(left))


_SHARED_FILE = TypeAdapter(SharedFile)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one state directory."""

    state: StateDirectory

    @property
    def directory(self) -> Path:
        return self.state.root / "shared-files"

    def all(self) -> Iterator[SharedFile]:
        """Every readable record. One that is not was written by nobody of ours."""
        for path in sorted(self.directory.glob("*.json")):
            try:
                yield _SHARED_FILE.validate_json(path.read_bytes())
            except (ValidationError, OSError) as error:
                log.warning("%s is left alone: %s", path, error)

    def get(self, path: Path) -> SharedFile | None:
        return next((record for record in self.all() if record.path == path), None)

    def directories_above(self, path: Path) -> list[Path]:
        """Those above this path that we made for other files: whichever file goes last takes them along."""
        return [made for record in self.all() for made in record.directories if made in path.parents]

    def save(self, record: SharedFile) -> None:
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._path(record), _SHARED_FILE.dump_json(record, indent=1).decode())

    def forget(self, record: SharedFile) -> None:
        self._path(record).unlink(missing_ok=True)

    def _path(self, record: SharedFile) -> Path:
        return self.directory / f"{digest(str(record.path))[:32]}.json"
