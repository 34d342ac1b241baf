"""Which sessions have executions under way: a session with a child at work is not idle."""

from collections import defaultdict
from dataclasses import dataclass, field

from mcp_agent.executions.records import ExecutionRecord


@dataclass(slots=True, eq=False)
class LiveChildren:
    """The executions that have not ended, by the session that started them."""

    _by_parent: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, record: ExecutionRecord) -> None:
        if record.parent_session is not None:
            self._by_parent[record.parent_session].add(record.id)

    def remove(self, record: ExecutionRecord) -> None:
        self._by_parent.get(str(record.parent_session), set()).discard(record.id)

    def reason(self, session_id: str) -> str | None:
        """Why a session must be kept although it does nothing itself."""
        count = len(self._by_parent.get(session_id, ()))
        return f"{count} executions of it run" if count > 1 else "an execution of it runs" if count else None
