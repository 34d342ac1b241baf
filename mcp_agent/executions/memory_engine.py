"""The engine without a disk, for tests and for looking at what the port asks for.

What survives an engine is the `MemoryDatabase` that it was opened on, as a database survives a process.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
from anyio.abc import TaskGroup

from mcp_agent.errors import EngineUnavailable, UnknownExecution
from mcp_agent.executions.engine import OVER, Engine, Job, JobState, OpenEngine, Progress, Work


@dataclass(slots=True)
class MemoryDatabase:
    """The jobs in the order in which they came. `away` makes every question fail, as a database that is down does."""

    jobs: dict[str, Job] = field(default_factory=dict)
    known: dict[str, Progress] = field(default_factory=dict)
    away: bool = False


@dataclass(slots=True, eq=False)
class MemoryEngine:
    """Runs jobs as tasks of `owner`."""

    database: MemoryDatabase
    work: Work
    concurrency: int
    owner: TaskGroup
    _changed: anyio.Event = field(default_factory=anyio.Event)

    async def start(self, job: Job) -> None:
        self._check()
        if job.id not in self.database.known:
            self.database.jobs[job.id] = job
            self._keep(Progress(job.id, JobState.QUEUED, lane=job.lane))
            self.begin_some()
        await anyio.lowlevel.checkpoint()

    async def get(self, job_id: str) -> Progress | None:
        self._check()
        await anyio.lowlevel.checkpoint()
        return self.database.known.get(job_id)

    async def wait(self, job_id: str) -> Progress:
        while True:
            changed, known = self._changed, await self.get(job_id)
            if known is None:
                raise UnknownExecution(job_id)
            if known.state in OVER:
                return known
            await changed.wait()

    async def list(self) -> list[Progress]:
        self._check()
        await anyio.lowlevel.checkpoint()
        return [known for known in self.database.known.values() if known.state not in OVER]

    async def cancel(self, job_id: str) -> bool:
        known = await self.get(job_id)
        if known is None or known.state in OVER:
            return False
        self._keep(replace(known, state=JobState.CANCELLED))
        return True

    def begin_some(self) -> None:
        """Begin what may begin, in order."""
        for job in sorted(self.database.jobs.values(), key=lambda job: job.order):
            if self._state(job) is JobState.QUEUED and self._running_in(job.lane) < self.concurrency:
                self._keep(Progress(job.id, JobState.RUNNING, lane=job.lane))
                self.owner.start_soon(self._run, job, name=f"job {job.id}")

    async def _run(self, job: Job) -> None:
        try:
            over = Progress(job.id, JobState.DONE, await self.work(job), job.lane)
        except Exception:  # noqa: BLE001 - foreign code: what a job does is none of an engine's business
            over = Progress(job.id, JobState.FAILED, lane=job.lane)
        if self._state(job) is JobState.RUNNING:
            self._keep(over)
        self.begin_some()

    def _state(self, job: Job) -> JobState:
        return self.database.known[job.id].state

    def _running_in(self, lane: str) -> int:
        jobs = self.database.jobs.values()
        return sum(job.lane == lane and self._state(job) is JobState.RUNNING for job in jobs)

    def _keep(self, progress: Progress) -> None:
        self.database.known[progress.id] = progress
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    def _check(self) -> None:
        if self.database.away:
            raise EngineUnavailable("memory", "it is away")


def memory_engine(database: MemoryDatabase, *, concurrency: int) -> OpenEngine:
    """Opens an engine on this database; what an earlier one left running is run again."""
    return partial(_open, database, concurrency)


@asynccontextmanager
async def _open(database: MemoryDatabase, concurrency: int, work: Work) -> AsyncGenerator[Engine]:
    if database.away:
        raise EngineUnavailable("memory", "it is away")
    async with anyio.create_task_group() as owner:
        engine = MemoryEngine(database, work, concurrency, owner)
        for known in list(database.known.values()):
            if known.state is JobState.RUNNING:
                database.known[known.id] = replace(known, state=JobState.QUEUED)
        engine.begin_some()
        yield engine
        owner.cancel_scope.cancel()
