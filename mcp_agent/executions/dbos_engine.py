"""The engine on DBOS: its queue, its recovery and its bound on what runs at once, on SQLite or PostgreSQL.

Four facts about DBOS 3.4 shape this file. It cancels rows and never what runs: whoever wants work stopped stops the
work. Two processes with one executor id run each other's work again: the id is this state directory's, and a server
holds its lock. Importing it takes over a second: `dbos_loading` does that, in a thread. While it is open its threads
poll the database, at a pace that cannot be set and for a tenth of a core, and closing it as it begins work takes ten
seconds: `driving` opens it when there is something to do, and closes it when it rests.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from anyio.from_thread import BlockingPortal

from mcp_agent.errors import EngineReplaced, EngineUnavailable, UnknownExecution
from mcp_agent.executions import dbos_loading
from mcp_agent.executions.engine import OVER, Engine, Job, JobState, OpenEngine, Progress, Work

log = logging.getLogger(__name__)

T = TypeVar("T")

FileIdentity = tuple[int, int]
"""Device and inode."""

QUEUE = "mcp-agent-executions"
WORKFLOW = "mcp-agent-execution"
APPLICATION_VERSION = "mcp-agent-1"
"""DBOS runs only work of its own version again: this one stays when our code changes."""

QUEUE_POLLED_EVERY = timedelta(seconds=0.25)
CLOSES_WITHIN = timedelta(seconds=0.1)
"""How long threads of DBOS sleep that wait for messages nobody here sends: closing it waits for them."""
SELDOM = timedelta(hours=1)
"""For what DBOS polls and nobody here uses."""
LOOK_AGAIN_AFTER = timedelta(seconds=0.5)
ANSWERS_WITHIN = timedelta(seconds=20)
"""A database that has not answered by then is away."""

_STATES = {
    "DELAYED": JobState.QUEUED,
    "ENQUEUED": JobState.QUEUED,
    "PENDING": JobState.RUNNING,
    "SUCCESS": JobState.DONE,
    "CANCELLED": JobState.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class DbosSettings:
    """Where DBOS keeps its queue, and how much of it runs here at once."""

    url: str = field(repr=False)
    """A SQLAlchemy URL; it may hold a password."""
    shown: str
    """The same for people, without one."""
    executor_id: str
    concurrency: int
    file: Path | None = None
    """The database's own, where it is one on this machine."""

    @property
    def queue(self) -> str:
        """Of this server alone: another one on the same database knows nothing of our executions."""
        return f"{QUEUE}-{self.executor_id}"


@dataclass(slots=True, eq=False)
class DbosEngine:
    """Every question to the database is asked in a thread."""

    settings: DbosSettings
    dbos: Any
    workflow: Any
    file: FileIdentity | None = None
    """The file that is open."""

    async def start(self, job: Job) -> None:
        await self._ask(lambda: self._enqueue(job))

    async def get(self, job_id: str) -> Progress | None:
        status = await self._ask(lambda: self.dbos.DBOS.get_workflow_status(job_id))
        return _progress(status) if status is not None else None

    async def wait(self, job_id: str) -> Progress:
        while True:
            known = await self.get(job_id)
            if known is None:
                raise UnknownExecution(job_id)
            if known.state in OVER:
                return known
            await anyio.sleep(LOOK_AGAIN_AFTER.total_seconds())

    async def list(self) -> list[Progress]:
        unfinished = ["DELAYED", "ENQUEUED", "PENDING"]
        list_ours = partial(self.dbos.DBOS.list_workflows, name=WORKFLOW, queue_name=self.settings.queue)
        found = await self._ask(lambda: list_ours(status=unfinished, load_input=False, load_output=False))
        return [_progress(status) for status in found]

    async def cancel(self, job_id: str) -> bool:
        known = await self.get(job_id)
        if known is None or known.state in OVER:
            return False
        await self._ask(lambda: self.dbos.DBOS.cancel_workflow(job_id))
        return True

    def _enqueue(self, job: Job) -> None:
        place = self.dbos.SetEnqueueOptions(queue_partition_key=job.lane, priority=job.order)
        with self.dbos.SetWorkflowID(job.id), place:
            self.dbos.DBOS.enqueue_workflow(self.settings.queue, self.workflow, job.id, job.payload, job.lane)

    async def _ask(self, question: Callable[[], T]) -> T:
        """Raises `EngineReplaced` too: SQLite reads on from a file that is gone, and writes nothing any more."""
        if self.file != _identity(self.settings.file):
            raise EngineReplaced(self.settings.shown)
        return await in_time(question, self.settings.shown)


async def in_time(question: Callable[[], T], where: str) -> T:
    """The answer of the database. Raises `EngineUnavailable`; DBOS itself would ask again for ever."""
    try:
        with anyio.fail_after(ANSWERS_WITHIN.total_seconds()):
            return await anyio.to_thread.run_sync(question, abandon_on_cancel=True)
    except TimeoutError as error:
        raise EngineUnavailable(where, f"no answer within {ANSWERS_WITHIN.seconds} s") from error
    except Exception as error:  # foreign code: drivers, SQLAlchemy and DBOS each raise their own
        raise EngineUnavailable(where, _first_line(error)) from error


def dbos_engine(settings: DbosSettings) -> OpenEngine:
    """Opens DBOS on this database; there is one of it in a process."""
    return partial(_open, settings)


@asynccontextmanager
async def _open(settings: DbosSettings, work: Work) -> AsyncGenerator[Engine]:
    dbos, trouble = await anyio.to_thread.run_sync(dbos_loading.load), None
    async with BlockingPortal() as portal:
        launching = _Launching(dbos, settings, partial(_run, portal, work))
        try:
            workflow = await in_time(launching.run, settings.shown)
        except EngineUnavailable as error:
            await anyio.to_thread.run_sync(launching.give_up)
            trouble = error
        else:
            try:
                yield DbosEngine(settings, dbos, workflow, _identity(settings.file))
            finally:
                with anyio.CancelScope(shield=True):
                    # Broken off first: what DBOS sees cancelled stays pending, for the next server to go on with.
                    await portal.stop(cancel_remaining=True)
                    await anyio.to_thread.run_sync(_destroy, dbos)
    if trouble is not None:
        raise trouble


_one_at_a_time = Lock()
"""There is one DBOS in a process, and a database that does not answer holds up its launch for as long as it likes."""


@dataclass(slots=True, eq=False)
class _Launching:
    """A launch that nobody may wait for any more when it is done: then it is undone."""

    dbos: Any
    settings: DbosSettings
    work: Callable[[Job], Any]
    _given_up: bool = False
    _is_open: bool = False
    _deciding: Lock = field(default_factory=Lock)

    def run(self) -> Any:
        """The workflow. The launch before this one is waited for, since it cannot be broken off."""
        if not _one_at_a_time.acquire(timeout=ANSWERS_WITHIN.total_seconds()):
            raise TimeoutError("an earlier try to open it is still under way")
        try:
            return None if self._given_up else self._launch()
        finally:
            _one_at_a_time.release()

    def _launch(self) -> Any:
        workflow = _launch(self.dbos, self.settings, self.work)
        with self._deciding:
            self._is_open = not self._given_up
        if not self._is_open:
            _destroy(self.dbos)
        return workflow

    def give_up(self) -> None:
        with self._deciding:
            self._given_up = True
        if self._is_open:
            _destroy(self.dbos)


def _launch(dbos: Any, settings: DbosSettings, run: Callable[[Job], Any]) -> Any:
    """Runs in a thread without an event loop, so that DBOS makes one of its own."""
    try:
        dbos.DBOS(config=_configuration(settings))

        @dbos.DBOS.workflow(name=WORKFLOW, max_recovery_attempts=None)  # type: ignore[untyped-decorator]
        async def execution(job_id: str, payload: str, lane: str) -> str:
            result: str = await asyncio.wrap_future(run(Job(job_id, payload, lane)))
            return result

        dbos.DBOS.listen_queues([settings.queue])
        dbos.DBOS.launch()
        dbos.DBOS.register_queue(
            settings.queue,
            partition_worker_concurrency=settings.concurrency,
            polling_interval_sec=QUEUE_POLLED_EVERY.total_seconds(),
            on_conflict="always_update",
        )
    except BaseException:
        _destroy(dbos)
        raise
    return execution


def _run(portal: BlockingPortal, work: Work, job: Job) -> Any:
    """The work's future; a cancelled one when nobody runs work any more: such a job stays pending."""
    try:
        return portal.start_task_soon(work, job, name=f"job {job.id}")
    except RuntimeError:
        broken_off = Future[str]()
        broken_off.cancel()
        return broken_off


def _configuration(settings: DbosSettings) -> dict[str, object]:
    return {
        "name": "mcp-agent",
        "system_database_url": settings.url,
        "application_version": APPLICATION_VERSION,
        "executor_id": settings.executor_id,
        "enable_otlp": False,
        "log_level": "WARNING",
        "scheduler_polling_interval_sec": SELDOM.total_seconds(),
        "notification_listener_polling_interval_sec": CLOSES_WITHIN.total_seconds(),
        "notification_coalesce_sec": CLOSES_WITHIN.total_seconds(),
    }


def _destroy(dbos: Any) -> None:
    """A database that is gone keeps nothing from being closed."""
    try:
        dbos.DBOS.destroy(destroy_registry=True)
    except Exception as error:  # noqa: BLE001 - foreign code, at an end that nothing may keep from coming
        log.warning("DBOS did not close cleanly: %s", _first_line(error))


def _progress(status: Any) -> Progress:
    state = _STATES.get(status.status, JobState.FAILED)
    result = status.output if state is JobState.DONE else None
    return Progress(status.workflow_id, state, result, status.queue_partition_key or "")


def _identity(file: Path | None) -> FileIdentity | None:
    """Which file stands there; None: none."""
    try:
        found = file.stat() if file is not None else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found is not None else None


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
