"""One process, named so that no other can be mistaken for it."""

from collections.abc import Mapping
from typing import NamedTuple

from mcp_agent.processes import table


class ProcessIdentity(NamedTuple):
    """A pid with what tells it from earlier and later owners of the same number.

    A named tuple and no dataclass: importing `dataclasses` takes a third of a supervisor's start.
    """

    pid: int
    start_time: int
    """Clock ticks since boot on Linux; microseconds since the epoch elsewhere."""
    boot_id: str | None

    def to_json(self) -> dict[str, object]:
        return {"pid": self.pid, "start_time": self.start_time, "boot_id": self.boot_id}

    @classmethod
    def from_json(cls, record: Mapping[str, object]) -> "ProcessIdentity":
        """The identity in a record; raises ValueError when the record holds none."""
        pid, start_time, boot_id = record.get("pid"), record.get("start_time"), record.get("boot_id")
        if not isinstance(pid, int) or not isinstance(start_time, int) or not isinstance(boot_id, str | None):
            raise ValueError(f"no process identity: {dict(record)!r}")  # noqa: TRY004 - a bad record, not a bad call
        return cls(pid, start_time, boot_id)


def identify(pid: int) -> ProcessIdentity | None:
    """The process that has this pid now; None when there is none. A zombie still has its pid."""
    found = table.facts(pid)
    return None if found is None else ProcessIdentity(pid, found.start_time, table.boot_id())


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether this very process still runs; a zombie does not."""
    if identity.boot_id != table.boot_id():
        return False
    found = table.facts(identity.pid)
    return found is not None and found.start_time == identity.start_time and not found.dead
