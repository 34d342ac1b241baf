"""The port to what drives executions durably: a queue that survives every process, and runs each job to its end.

An engine knows ids, payloads and results, and nothing of sessions. What a job means is the `Work` that it is opened
with. Work that was broken off, by a crash or by the end of the server, is run again by the next engine on the same
database: so it must be able to find what it began. `memory_engine` and `dbos_engine` pass one contract test.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Job:
    """One run that is handed over. `payload` is all that a worker needs to know, and holds no secrets."""

    id: str
    payload: str
    lane: str = "1"
    """At most so many jobs of one lane run at once as the engine was opened with."""
    order: int = 1
    """Of the jobs that wait in a lane the one with the least begins next; 1 to 2,147,483,647."""


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    """Its work returned; `result` holds what."""
    FAILED = "failed"
    """Its work raised; it is not run again."""
    CANCELLED = "cancelled"
    """It was cancelled before it was done, and is not run again."""


OVER = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Progress:
    """What an engine knows of one job. `result` is None until it is done."""

    id: str
    state: JobState
    result: str | None = None
    lane: str = "1"


Work = Callable[[Job], Awaitable[str]]
"""Runs one job to its result. It may be run again after a crash; its cancellation leaves the job to the next engine."""


class Engine(Protocol):
    """A queue of jobs on somebody's disk. Every method raises `EngineUnavailable` when its database does not answer."""

    async def start(self, job: Job) -> None:
        """Take a job over: it is on the engine's disk on return. An id that it knows already changes nothing."""
        ...

    async def get(self, job_id: str) -> Progress | None:
        """What is known of a job; None when it was never started here."""
        ...

    async def wait(self, job_id: str) -> Progress:
        """The job once it is over. Raises `UnknownExecution` when it was never started."""
        ...

    async def list(self) -> list[Progress]:
        """The jobs that are not over, oldest first."""
        ...

    async def cancel(self, job_id: str) -> bool:
        """See to it that a job is not begun, and whether it was not over yet. What runs is stopped by its own work."""
        ...


OpenEngine = Callable[[Work], AbstractAsyncContextManager[Engine]]
"""Opens the engine; leaving it breaks running work off, for the next one to go on with."""
