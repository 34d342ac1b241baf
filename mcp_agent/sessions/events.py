"""What a provider tells by files: spooled hook events, and the transcript of its conversation."""

import json
import logging
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
    except (OSError, ValueError) as error:
        log.warning("event %s is unreadable: %s", path.name, error)
        event = None
    path.unlink(missing_ok=True)
    return event if isinstance(event, dict) else None


@dataclass(slots=True)
class TranscriptTail:
    """The complete new lines of a growing file. `path` is None until the provider has told it."""

    path: Path | None = None
    _offset: int = field(default=0)

    def follow(self, path: Path | None) -> None:
        """Read this file from its beginning, unless it is the one already followed."""
        if path is not None and path != self.path:
            self.path, self._offset = path, 0

    def skip_to_end(self) -> None:
        """What is already there was told before."""
        if self.path is not None and self.path.exists():
            self._offset = self.path.stat().st_size

    def take(self) -> list[str]:
        """The lines completed since the last look; a half-written last line waits for its end."""
        if self.path is None:
            return []
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self._offset += len(complete)
        return complete.decode("utf-8", "replace").splitlines()
