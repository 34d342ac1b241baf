"""How long a tool call is waited for, without ever inventing an outcome for its work."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint_if_cancelled

from mcp_agent.calls.outcomes import Answered, Cancelled, Outcome, Raised, StoppedWaiting

SLOW_AFTER = timedelta(seconds=60)
"""When a call is worth a remark; it is waited for all the same."""

CLEANUP_LIMIT = timedelta(seconds=30)
"""How long a cancelled caller waits for the clean-up of its work."""

REPORT_LIMIT = timedelta(seconds=10)
"""How long a listener may take with what it is told."""

ResultT = TypeVar("ResultT")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlowCall:
    """A call that takes longer than most, and goes on."""

    call_id: str
    tool: str
    session_id: str
    elapsed_seconds: float
    limit_seconds: float


async def watch(
    owner: TaskGroup,
    work: Callable[[], Awaitable[ResultT]],
    *,
    call_id: str,
    tool: str,
    session_id: str,
    limit: timedelta,
    work_limit: timedelta | None = None,
    slow_after: timedelta = SLOW_AFTER,
    on_slow: Callable[[SlowCall], Awaitable[None]] | None = None,
    on_late: Callable[[Outcome[ResultT]], Awaitable[None]] | None = None,
) -> Outcome[ResultT]:
    """Run the work in the owner's task group and wait for it up to `limit`.

    The work outlives the wait, and not a cancellation: when the caller is cancelled, the work is too, and has cleaned
    up before the cancellation goes on. `work_limit` cancels the work wherever its caller is. `on_late` is told, once,
    each outcome that the caller did not get. A listener that raises or hangs changes nothing. The work of an already
    cancelled caller never starts; cancelling the owner ends work that nobody waits for any more.
    """
    await checkpoint_if_cancelled()
    call = _Call(work, call_id, tool, session_id, limit, work_limit, on_late)
    owner.start_soon(call.run, name=f"{tool} {call_id}")
    try:
        if on_slow is not None and timedelta(0) < slow_after < limit and not await call.settles_within(slow_after):
            owner.start_soon(_report, on_slow, call.slow(), name=f"slow {call_id}")
        await call.settles_within(limit)
        # A stop that came in the same instant outranks the deadline, and the result.
        await checkpoint_if_cancelled()
    except anyio.get_cancelled_exc_class():
        await call.cancel()
        raise
    if call.outcome is None:
        call.abandoned = True
        return call.stopped_waiting()
    return call.outcome


@dataclass(slots=True, eq=False)
class _Call(Generic[ResultT]):
    work: Callable[[], Awaitable[ResultT]]
    call_id: str
    tool: str
    session_id: str
    limit: timedelta
    work_limit: timedelta | None
    on_late: Callable[[Outcome[ResultT]], Awaitable[None]] | None
    outcome: Outcome[ResultT] | None = None
    abandoned: bool = False
    """The caller has gone; whatever comes is late."""
    asked: bool = False
    """The caller's cancellation stopped the work, and not its limit."""
    started: float = field(default_factory=anyio.current_time)
    settled: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def run(self) -> None:
        if self.work_limit is not None:
            self.scope.deadline = self.started + self.work_limit.total_seconds()
        try:
            with self.scope:
                await checkpoint_if_cancelled()
                self.outcome = await self._observe()
        finally:
            # Nothing was observed: the work went down with its scope, or with the owner.
            self.outcome = self.outcome or self._cancelled()
            self.settled.set()
            if self.abandoned:
                await self._tell_late(self.outcome)

    async def _observe(self) -> Outcome[ResultT]:
        try:
            return Answered(await self.work())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool's own code: it may raise anything, and even exit
            return self._cancelled(error) if self.scope.cancel_called else Raised(error)

    async def settles_within(self, limit: timedelta) -> bool:
        """Whether the work settles within this time of its start."""
        if not self.settled.is_set():
            with anyio.CancelScope(deadline=self.started + limit.total_seconds()):
                await self.settled.wait()
        return self.settled.is_set()

    async def cancel(self) -> None:
        """Cancel the work and wait, bounded, until it has cleaned up."""
        self.abandoned, self.asked = True, not self.scope.cancel_called
        self.scope.cancel()
        if self.outcome is not None:
            await self._tell_late(self.outcome)
        with anyio.move_on_after(CLEANUP_LIMIT.total_seconds(), shield=True):
            await self.settled.wait()
        if not self.settled.is_set():
            log.warning("%s: the clean-up of %s takes longer than %s", self.call_id, self.tool, CLEANUP_LIMIT)

    async def _tell_late(self, outcome: Outcome[ResultT]) -> None:
        if self.on_late is not None:
            with anyio.CancelScope(shield=True):
                await _report(self.on_late, outcome)

    def slow(self) -> SlowCall:
        return SlowCall(self.call_id, self.tool, self.session_id, self._elapsed_seconds(), self.limit.total_seconds())

    def stopped_waiting(self) -> StoppedWaiting:
        return StoppedWaiting(
            call_id=self.call_id,
            tool=self.tool,
            session_id=self.session_id,
            layer="tool_wait",
            waited_seconds=self._elapsed_seconds(),
            limit_seconds=self.limit.total_seconds(),
            work_limit_seconds=None if self.work_limit is None else self.work_limit.total_seconds(),
        )

    def _cancelled(self, cleanup_error: BaseException | None = None) -> Cancelled:
        by_limit = self.work_limit is not None and self.scope.cancel_called and not self.asked
        return Cancelled(
            call_id=self.call_id,
            tool=self.tool,
            session_id=self.session_id,
            layer="server_tool" if by_limit else "cancel",
            owner="server" if by_limit else "caller",
            elapsed_seconds=self._elapsed_seconds(),
            limit_seconds=self.work_limit.total_seconds() if by_limit and self.work_limit is not None else None,
            cleanup_error=cleanup_error,
        )

    def _elapsed_seconds(self) -> float:
        return anyio.current_time() - self.started


async def _report(listener: Callable[[ResultT], Awaitable[None]], fact: ResultT) -> None:
    try:
        with anyio.move_on_after(REPORT_LIMIT.total_seconds()):
            await listener(fact)
    except Exception:  # a listener's trouble must not become the call's
        log.exception("a listener raised on %r", fact)
