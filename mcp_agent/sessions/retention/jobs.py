"""Work of a session that goes on without a turn: what a command or the CLI itself started and left running.

A CLI has helpers that live as long as it does, its bridge among them: they were there at its first prompt, or they
share its process group, as a shell's job does not.
"""

import json
import logging
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from mcp_agent.processes import ProcessIdentity, descendants, identify
from mcp_agent.processes.search import SESSION_MARK, marked
from mcp_agent.state import write_private

log = logging.getLogger(__name__)

HELPERS_FILE = "helpers.json"


@dataclass(slots=True)
class SessionJobs:
    """The jobs of one launch of a session; the process table is read in a thread."""

    session_id: str
    cli: int
    """The pid of the CLI."""
    directory: Path
    _helpers: frozenset[ProcessIdentity] | None = None

    async def note_helpers(self) -> None:
        if self._helpers is None:
            self._helpers = await to_thread.run_sync(helpers_of, self.cli, self.directory)

    async def find(self) -> list[ProcessIdentity]:
        await self.note_helpers()
        return await to_thread.run_sync(jobs_of, self.session_id, self.cli, self._helpers or frozenset())

    def ignore(self, jobs: Collection[ProcessIdentity]) -> None:
        self._helpers = (self._helpers or frozenset()) | frozenset(jobs)


def helpers_of(pid: int, directory: Path) -> frozenset[ProcessIdentity]:
    """What ran below this CLI at its first prompt: kept in the session's directory, and found there later."""
    cli = identify(pid)
    if cli is None:
        return frozenset()
    found = _kept(directory / HELPERS_FILE, cli)
    if found is None:
        found = frozenset(descendants(cli))
        facts = {"cli": cli.to_json(), "helpers": [helper.to_json() for helper in found]}
        with suppress(OSError):  # a full disk, or a session that was just put away
            write_private(directory / HELPERS_FILE, json.dumps(facts))
    return found


def jobs_of(session_id: str, pid: int, helpers: Collection[ProcessIdentity]) -> list[ProcessIdentity]:
    """What runs for the session besides its CLI (the process `pid`) and the CLI's helpers."""
    cli = identify(pid)
    below = descendants(cli) if cli else []
    inside = {pid, *(found.pid for found in below)}
    own = [found for found in below if _has_its_own_group(found.pid, pid)]
    elsewhere = [found for found in marked(SESSION_MARK, session_id) if found.pid not in inside]
    return [found for found in (*own, *elsewhere) if found not in helpers]


def _kept(path: Path, cli: ProcessIdentity) -> frozenset[ProcessIdentity] | None:
    """None for a file that is not there, or that is about another launch."""
    try:
        facts = json.loads(path.read_bytes())
        if ProcessIdentity.from_json(facts["cli"]) != cli:
            return None
        return frozenset(map(ProcessIdentity.from_json, facts["helpers"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _has_its_own_group(pid: int, cli: int) -> bool:
    try:
        return os.getpgid(pid) != os.getpgid(cli)
    except OSError:
        return False
