"""What a provider tells by files: spooled hook events, and the transcript of its conversation."""

import json
import logging
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_agent.errors import BadRequest

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EventSpool:
    """A directory of JSON events, one file each, named so that they sort by time. Taken ones are removed."""

    directory: Path

    def untaken(self, taken: Collection[str]) -> Iterator[tuple[str, Mapping[str, object]]]:
        """The events that came since the last look, each with its name, oldest first; none is removed.

        What is no JSON object is removed and logged.
        """
        for path in self._paths():
            if path.name not in taken and (event := _read(path)) is not None:
                yield path.name, event

    def remove(self, name: str) -> None:
        """Take an event away. A directory that takes no changes keeps it for now."""
        with suppress(OSError):
            (self.directory / name).unlink(missing_ok=True)

    def take(self) -> list[Mapping[str, object]]:
        """The events that came since the last look, oldest first. What is no JSON object is dropped and logged."""
        found = dict(self.untaken(()))
        for name in found:
            self.remove(name)
        return [*found.values()]

    @property
    def has_any(self) -> bool:
        return bool(self._names())

    def _paths(self) -> list[Path]:
        return [self.directory / name for name in sorted(self._names())]

    def _names(self) -> list[str]:
        try:
            return [name for name in os.listdir(self.directory) if name.endswith(".json")]  # noqa: PTH208 - names only
        except OSError:
            return []


def event_of(body: bytes) -> Mapping[str, object]:
    """An event that was handed over as it is. Raises `BadRequest`."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise BadRequest("the body must be one event, which is a JSON object")
    return event


def _read(path: Path) -> Mapping[str, object] | None:
    try:
        event = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        log.warning("event %s is unreadable: %s", path.name, error)
        event = None
    if isinstance(event, dict):
        return event
    with suppress(OSError):
        path.unlink(missing_ok=True)
    return None


@dataclass(slots=True)
class TranscriptTail:
    """The complete new lines of a growing file. `path` is None until the provider has told it."""

    path: Path | None = None
    offset: int = 0
    """How much of the file was read, in bytes."""

    @classmethod
    def from_end_of(cls, path: Path | None) -> "TranscriptTail":
        """What was complete before was told before."""
        tail = cls(path)
        tail.take()
        return tail

    def follow(self, path: Path | None) -> None:
        """Read this file from its beginning, unless it is the one already followed."""
        if path is not None and path != self.path:
            self.path, self.offset = path, 0

    @property
    def has_more(self) -> bool:
        """Whether the file holds something that was not taken, as far as its size tells."""
        try:
            return self.path is not None and self.path.stat().st_size != self.offset
        except OSError:
            return False

    def take(self) -> list[str]:
        """The lines completed since the last look; a half-written last line waits for its end.

        A file that was cut short is read on from its new end: what it holds was told before.
        """
        if self.path is None or not self.has_more:
            return []
        try:
            with self.path.open("rb") as file:
                self.offset = min(self.offset, os.fstat(file.fileno()).st_size)
                file.seek(self.offset)
                data = file.read()
        except OSError:
            return []
        complete = data[: data.rfind(b"\n") + 1]
        self.offset += len(complete)
        return complete.decode("utf-8", "replace").split("\n")[:-1]
