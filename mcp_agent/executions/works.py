"""The work that goes on in this server, whichever engine asked for it, and while none is open.

An engine that is opened again asks for what it was told nothing of, and finds it here.
"""

import logging
from collections import Counter
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from mcp_agent.executions.engine import Job, JobState, Progress, Work
from mcp_agent.sessions.input.messages import Changes

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Begun:
    """One job's work, and what it came to."""

    job: Job
    over: anyio.Event = field(default_factory=anyio.Event)
    result: str | None = None
    error: Exception | None = None
    asked_by: int = 0
    """How many engines wait for it: one, or none."""


@dataclass(slots=True, eq=False)
class Works:
    """What was begun and is not over. Work runs in `owner`, at most `concurrency` of one lane at once."""

    work: Work
    concurrency: int
    owner: TaskGroup
    changes: Changes = field(default_factory=Changes)
    """Told when work is begun, and when it is over."""
    untold: bool = False
    """Work ended while no engine waited for it."""
    _begun: dict[str, Begun] = field(default_factory=dict)

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._begun

    def is_full(self, lane: str) -> bool:
        """Whether nothing more of this lane begins before something of it ends."""
        return Counter(begun.job.lane for begun in self._begun.values())[lane] >= self.concurrency

    def rests(self, known: Progress) -> bool:
        """Whether an engine has nothing to do for this job before something here changes."""
        if begun := self._begun.get(known.id):
            return begun.asked_by > 0
        return known.state is JobState.QUEUED and self.is_full(known.lane)

    async def attend(self, job: Job) -> str:
        """The result of the job's work, which is begun if it was not, and goes on when this is cancelled."""
        begun = await self._of(job)
        begun.asked_by += 1
        try:
            await begun.over.wait()
        finally:
            begun.asked_by -= 1
        if begun.error is not None:
            raise begun.error
        return begun.result or ""

    async def _of(self, job: Job) -> Begun:
        """An engine that was just opened may hand over a new job before those that it had begun."""
        while job.id not in self._begun and self.is_full(job.lane):
            await self.changes.next.wait()
        if job.id not in self._begun:
            self._begun[job.id] = Begun(job)
            self.owner.start_soon(self._run, self._begun[job.id], name=f"work of {job.id}")
            self.changes.tell()
        return self._begun[job.id]

    async def _run(self, begun: Begun) -> None:
        try:
            begun.result = await self.work(begun.job)
        except Exception as error:  # foreign code: what a job does is none of an engine's business
            log.exception("execution %s", begun.job.id)
            begun.error = error
        finally:
            del self._begun[begun.job.id]
        self.untold = self.untold or not begun.asked_by
        begun.over.set()
        self.changes.tell()
