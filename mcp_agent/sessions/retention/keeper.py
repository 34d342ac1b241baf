"""Idle sessions are closed: after their limit, and never while anything of them is at work.

The clock is counted by the terminal (`IdleClock`), so it goes on while no server lives; here it is set when a turn ends
and held while something is live, and what it says is acted on at the limit. Whatever cannot be seen counts as life: a
terminal that does not answer closes nothing, and a session is looked at once more under its lock before it is closed.
"""

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import Protocol

import anyio

from mcp_agent.errors import PaneGone, TmuxCommandFailed, TmuxUnavailable
from mcp_agent.processes import ProcessIdentity
from mcp_agent.processes.reaping import wait_gone
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.retention.clock import ticks_of
from mcp_agent.sessions.retention.closing import ABANDONED_AFTER, Closing, Keeping
from mcp_agent.sessions.signals import SessionState
from mcp_agent.sessions.starting.readiness import content
from mcp_agent.tmux.terminal import IdleClock, PaneInfo, PaneRef, Terminal

log = logging.getLogger(__name__)

SET_AGAIN_AFTER = timedelta(hours=1)
"""A held clock is set again so often: one that nobody sets is abandoned in the end."""
TRY_AGAIN_AFTER = timedelta(seconds=1)
LOOKS_IN_A_TICK = 10

NO_ANSWER = (TmuxUnavailable, TmuxCommandFailed)

Reason = Callable[[str], str | None]
"""Why a session, by its id, must be kept for now; None when there is nothing."""
CloseIdle = Callable[[LiveSession, Closing], Awaitable[object]]


class Jobs(Protocol):
    """What runs for one session without a turn."""

    async def note_helpers(self) -> None:
        """The CLI shows its prompt: what it runs now belongs to it. Later calls change nothing."""
        ...

    async def find(self) -> Collection[ProcessIdentity]: ...

    def ignore(self, jobs: Collection[ProcessIdentity]) -> None:
        """These keep the session no longer."""
        ...


_AT_WORK = {
    SessionState.BUSY: "it works",
    SessionState.WAITING: "it asks its user something",
    SessionState.BLOCKED: "a dialog is open",
}
_NOT_UP = frozenset({SessionState.STARTING, SessionState.BLOCKED})
_GONE = frozenset({SessionState.LOST, SessionState.STOPPED})


@dataclass(slots=True)
class Keeper:
    """Looks after one launch of a session, to its end. `run` is its task."""

    session: LiveSession
    clock: IdleClock
    keeping: Keeping
    close: CloseIdle
    reason: Reason
    jobs: Jobs
    since: float = 0.0
    """Wall-clock epoch at which this server began: what it was told since then happened now."""
    wall: Callable[[], float] = time.time
    _pane: PaneRef = field(init=False)
    _terminal: Terminal = field(init=False)
    _set_seconds: float = 0.0
    _active_seconds: float = 0.0
    _ticks: int = 0
    """Where the clock stands, or begins next."""
    _lines: Sequence[str] | None = None
    _heard: tuple[object, ...] = ()
    _seen: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._pane, self._terminal = self.session.pane, self.session.terminal

    async def run(self) -> None:
        """Return when the session is over, closed by us or otherwise."""
        with suppress(PaneGone):
            self._ticks = await self._counted_before()
            while not self._over:
                if self._input != self._heard:
                    self._heard, self._ticks = self._input, 0
                if self._why_kept() is not None:
                    await self._hold()
                else:
                    await self._be_idle()

    @property
    def _over(self) -> bool:
        """A session that goes on in another pane has another keeper."""
        return self.session.state in _GONE or self.session.record.pane != self._pane

    def _why_kept(self, *, sending: bool = True) -> str | None:
        """What is live. With `sending` an input that is on its way counts too."""
        session = self.session
        if session.turns.current is not None:
            return "a turn runs"
        if session.state in _AT_WORK:
            return _AT_WORK[session.state]
        if session.state is SessionState.STARTING and session.status.reading is None:
            return "it starts"
        if sending and (session.send_lock.statistics().locked or session.input_lock.statistics().locked):
            return "input is on its way"
        return self.reason(session.id)

    async def _counted_before(self) -> int:
        """Where an earlier server's clock is by now; nothing of that counts when a turn ended meanwhile."""
        found, last_ended = (
            await self._read(),
            max((turn.ended_at or 0.0 for turn in self.session.turns.all), default=0.0),
        )
        self._heard = self._input
        return 0 if found is None or found.ticks is None or last_ended >= self.since else found.ticks

    @property
    def _input(self) -> tuple[object, ...]:
        """What input was accepted last, and when that came to its end: the limit begins anew with each of these."""
        return tuple((turn.id, len(turn.live_inputs), turn.ended_at) for turn in self.session.turns.all[-1:])

    # --- something is live -------------------------------------------------------------------------------------------

    async def _hold(self) -> None:
        """The clock stands still until nothing is live any more. Work that is no turn of ours is like one."""
        while not self._over and (why := self._why_kept()) is not None:
            log.debug("session %s is kept: %s", self.session.id, why)
            if self.session.state is SessionState.BUSY:
                self._ticks = 0
            await self._set(self._ticks, held=True)
            if self.session.state not in _NOT_UP:
                await self.jobs.note_helpers()
            await self.session.wait_until(partial(self._is_kept_otherwise, why), limit=SET_AGAIN_AFTER)

    def _is_kept_otherwise(self, why: str) -> bool:
        return self._over or self._why_kept() != why

    async def _wait_for(self, jobs: Collection[ProcessIdentity]) -> None:
        """The limit begins when they end. They keep a session as long as a hold that a crash left, and not for ever."""
        log.info("session %s is kept: processes %s run", self.session.id, ", ".join(str(job.pid) for job in jobs))
        began_seconds, self._ticks = anyio.current_time(), 0
        while not self._over:
            await self._set(0, held=True)
            if await wait_gone(jobs, limit=SET_AGAIN_AFTER):
                return
            if anyio.current_time() - began_seconds >= ABANDONED_AFTER.total_seconds():
                self.jobs.ignore(jobs)
                return

    # --- nothing is --------------------------------------------------------------------------------------------------

    async def _be_idle(self) -> None:
        """Count to the limit, and close the session there. Returns when something is live before that, or after it."""
        self._lines, self._seen = None, set()
        self._note_screen()
        await self._set(self._ticks)
        if jobs := await self.jobs.find():
            await self._wait_for(jobs)
            return
        while True:
            if await self.session.wait_until(self._is_live, limit=await self._left()):
                self._ticks = await self._counted()
                return
            if self._was_active:
                await self._set(self._ticks_since_activity)
            elif not await self._left():
                if await self._closed():
                    return
                await anyio.sleep(self._look_again.total_seconds())

    def _is_live(self) -> bool:
        """Something is, or was since the clock was set: a turn may begin and end between two looks."""
        self._note_screen()
        return self._over or self._why_kept() is not None or self._input != self._heard

    def _note_screen(self) -> None:
        """Content that was not there before is activity, even though nobody asked for it."""
        lines = self.session.screen.lines
        if lines == self._lines:
            return
        self._lines = lines
        seen = hash(content(lines))
        if seen not in self._seen:
            self._seen.add(seen)
            self._active_seconds = anyio.current_time()

    @property
    def _was_active(self) -> bool:
        return self._active_seconds > self._set_seconds

    @property
    def _ticks_since_activity(self) -> int:
        return int((anyio.current_time() - self._active_seconds) / self.clock.interval.total_seconds())

    async def _counted(self) -> int:
        """Where the clock is; where it began when the terminal does not say."""
        found = await self._read()
        ticks = self.clock.ticks if found is None or found.ticks is None else found.ticks
        return min(ticks, self._ticks_since_activity) if self._was_active else ticks

    async def _left(self) -> timedelta:
        """Until the terminal can have counted to the limit; zero when it has. Ticks are its to count, not ours."""
        found = await self._read()
        if found is None:
            return self._look_again
        if found.attached or found.ticks is None:
            await self._set(0)
            return self.clock.interval
        ticks = self._due - found.ticks
        if ticks <= 0:
            return timedelta(0)
        since = timedelta(seconds=anyio.current_time() - self._set_seconds)
        expected = (self._due - self.clock.ticks) * self.clock.interval - since
        return max(expected, (ticks - 1) * self.clock.interval, self._look_again)

    @property
    def _due(self) -> int:
        assert self.keeping.limit is not None
        return ticks_of(self.keeping.limit)

    @property
    def _look_again(self) -> timedelta:
        return self.clock.interval / LOOKS_IN_A_TICK

    async def _closed(self) -> bool:
        """Close the session, unless one more look under its lock finds it alive. False: look again in a moment."""
        session = self.session
        async with session.send_lock, session.input_lock:
            try:
                await session.look()
            except NO_ANSWER as error:
                log.warning("session %s is kept: %s", session.id, error)
                return False
            self._note_screen()
            if self._was_active or self._why_kept(sending=False) is not None or self._input != self._heard:
                return False
            if await self.jobs.find():
                return True
            found = await self._read()
            if found is None or found.attached or found.ticks is None or found.ticks < self._due:
                return False
            await self._close(found.ticks)
            return True

    async def _close(self, ticks: int) -> None:
        assert self.keeping.limit is not None
        elapsed_seconds = ticks * self.clock.interval.total_seconds()
        closing = Closing(self.keeping.limit, self.keeping.setting, self.wall(), "server", elapsed_seconds)
        log.info("session %s is closed: %s", self.session.id, closing.sentence)
        await self.close(self.session, closing)

    # --- the terminal ------------------------------------------------------------------------------------------------

    async def _read(self) -> PaneInfo | None:
        """What the terminal says; None when it does not answer. Raises `PaneGone`."""
        try:
            found = await self._terminal.exit_of(self._pane)
        except NO_ANSWER as error:
            log.warning("session %s is kept: %s", self.session.id, error)
            return None
        if found is None:
            raise PaneGone(self._pane.pane_id)
        return found

    async def _set(self, ticks: int, *, held: bool = False) -> None:
        """Set the clock, as soon as the terminal takes it. Raises `PaneGone`."""
        self.clock = replace(self.clock, ticks=ticks, held=held)
        while True:
            try:
                await self._terminal.set_clock(self._pane, self.clock)
            except NO_ANSWER as error:
                log.warning("session %s: its idle clock is not set yet: %s", self.session.id, error)
                await anyio.sleep(TRY_AGAIN_AFTER.total_seconds())
            else:
                self._set_seconds = anyio.current_time()
                return
