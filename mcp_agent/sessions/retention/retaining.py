"""Retention for all sessions of one server: which of them have a limit, and what became of each in the end."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

from mcp_agent.errors import PaneGone, TmuxError
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.retention.clock import clock_of, keeping_of
from mcp_agent.sessions.retention.closing import Keeping
from mcp_agent.sessions.retention.evidence import with_closing
from mcp_agent.sessions.retention.jobs import SessionJobs
from mcp_agent.sessions.retention.keeper import CloseIdle, Jobs, Keeper, Reason
from mcp_agent.sessions.signals import ENDED, SessionState
from mcp_agent.state import StateDirectory
from mcp_agent.timeouts import Policy

log = logging.getLogger(__name__)

TOLD_WITHIN = timedelta(seconds=10)
"""How soon a session knows that its pane is gone."""


def jobs_of_session(state: StateDirectory, session: LiveSession) -> Jobs:
    return SessionJobs(session.id, session.pane.pid, state.session(session.id))


@dataclass(slots=True)
class Retention:
    """Keeps the sessions of one server, and closes the idle ones."""

    state: StateDirectory
    policy: Policy
    close: CloseIdle
    reasons: Sequence[Reason] = ()
    """Who else may say that a session must be kept."""
    since: float = field(default_factory=time.time)
    """When this server began."""
    find_jobs: Callable[[StateDirectory, LiveSession], Jobs] = jobs_of_session

    async def look_after(self, session: LiveSession) -> None:
        """Return when this launch of the session is over, or when it is kept for ever."""
        keeping = self._keeping(session)
        with suppress(PaneGone):
            if keeping.limit is None:
                await self._without_clock(session)
                return
            clock = clock_of(self.state, session.id, keeping.limit)
            jobs = self.find_jobs(self.state, session)
            await Keeper(session, clock, keeping, self.close, self._reason, jobs, self.since).run()
        await self._find_out(session)

    def _keeping(self, session: LiveSession) -> Keeping:
        """The limit that the session was first launched with, whatever is configured by now."""
        keeping = session.record.keeping
        if keeping is None:
            keeping = keeping_of(session.record.options, self.policy, session.adapter)
            session.record = replace(session.record, keeping=keeping)
            session.on_record(session.record)
        return keeping

    def _reason(self, session_id: str) -> str | None:
        return next((why for reason in self.reasons if (why := reason(session_id)) is not None), None)

    async def _without_clock(self, session: LiveSession) -> None:
        with suppress(TmuxError):
            await session.terminal.set_clock(session.pane, None)

    async def _find_out(self, session: LiveSession) -> None:
        """A pane may be gone since its own clock closed it, when we were too slow to."""
        await session.wait_until(lambda: session.state in ENDED, limit=TOLD_WITHIN)
        if session.state is not SessionState.LOST:
            return
        with suppress(TmuxError):
            found = await with_closing(self.state, session.record, session.opened)
            if found.closed is not None and session.state is SessionState.LOST:
                log.warning("session %s was closed by its clock before the server did it", session.id)
                await self.close(session, found.closed)
