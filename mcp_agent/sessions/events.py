"""What a provider tells by files: spooled hook events, and the transcript of its conversation."""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EventSpool:
    """A directory of JSON events, one file each, named so that they sort by time. Taken ones are removed."""

    directory: Path

    def take(self) -> list[Mapping[str, object]]:
        """The events that came since the last look, oldest first. What is no JSON object is dropped and logged."""
        try:
            paths = sorted(self.directory.glob("*.json"))
        except OSError:
            return []
        return [event for path in paths if (event := _read_and_remove(path)) is not None]


def _read_and_remove(path: Path) -> Mapping[str, object] | None:
    try:
        event = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        log.warning("event %s is unreadable: %s", path.name, error)
        event = None
    path.unlink(missing_ok=True)
    return event if isinstance(event, dict) else None


@dataclass(slots=True)
class TranscriptTail:
    """The complete new lines of a growing file. `path` is None until the provider has told it."""

    path: Path | None = None
    _offset: int = field(default=0)

    @classmethod
    def from_end_of(cls, path: Path | None) -> "TranscriptTail":
        """What was complete before was told before."""
        tail = cls(path)
        tail.take()
        return tail

    def follow(self, path: Path | None) -> None:
        """Read this file from its beginning, unless it is the one already followed."""
        if path is not None and path != self.path:
            self.path, self._offset = path, 0

    def take(self) -> list[str]:
        """The lines completed since the last look; a half-written last line waits for its end.

        A file that was cut short is read on from its new end: what it holds was told before.
        """
        if self.path is None:
            return []
        try:
            with self.path.open("rb") as file:
                self._offset = min(self._offset, os.fstat(file.fileno()).st_size)
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._offset += len(complete)
        return complete.decode("utf-8", "replace").split("\n")[:-1]
