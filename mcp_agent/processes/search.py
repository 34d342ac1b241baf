"""Which processes belong together: by descent, or by a mark in their environment."""

import os
from collections.abc import Iterable, Iterator

from mcp_agent.processes import table
from mcp_agent.processes.identity import ProcessIdentity

SESSION_MARK = "MCP_AGENT_SESSION"
"""The variable that marks everything a session's commands start."""

CALL_MARK = "MCP_AGENT_CALL"
"""The variable that marks everything one call starts."""


def descendants(ancestor: ProcessIdentity) -> list[ProcessIdentity]:
    """Everything alive below a process, nearest first. What was re-parented away from it is not below it any more."""
    found = table.facts(ancestor.pid)
    if found is None or found.start_time != ancestor.start_time:
        return []
    children = _living_children()
    below: list[ProcessIdentity] = []
    todo = [ancestor.pid]
    for parent in todo:
        for child in children.pop(parent, ()):
            below.append(child)
            todo.append(child.pid)
    return below


def with_descendants(roots: Iterable[ProcessIdentity]) -> list[ProcessIdentity]:
    """These processes and everything alive below them, each once."""
    found = dict.fromkeys(roots)
    for root in tuple(found):
        found.update(dict.fromkeys(descendants(root)))
    return list(found)


def marked(variable: str, value: str) -> list[ProcessIdentity]:
    """Living processes whose program was started with this variable: it survives double forks and new sessions.

    Processes of other users cannot be read and are not found.
    """
    mark = os.fsencode(f"{variable}={value}")
    return [identity for identity, _ in _living() if mark in table.environment(identity.pid)]


def without_mark(processes: Iterable[ProcessIdentity], variable: str) -> list[ProcessIdentity]:
    """Those of the processes whose program was started without this variable."""
    start = os.fsencode(f"{variable}=")
    return [
        process for process in processes if not any(entry.startswith(start) for entry in table.environment(process.pid))
    ]


def _living() -> Iterator[tuple[ProcessIdentity, int]]:
    """Every living process with its parent's pid."""
    for pid in table.pids():
        found = table.facts(pid)
        if found is not None and not found.dead:
            yield ProcessIdentity(pid, found.start_time, table.boot_id()), found.parent


def _living_children() -> dict[int, list[ProcessIdentity]]:
    children: dict[int, list[ProcessIdentity]] = {}
    for identity, parent in _living():
        children.setdefault(parent, []).append(identity)
    return children
