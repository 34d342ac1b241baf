"""From a launched CLI to its first prompt, within the readiness bounds."""

from collections.abc import Callable
from datetime import timedelta

import anyio

from mcp_agent.errors import PromptReadyTimedOut, SessionEnded
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import SessionState
from mcp_agent.sessions.starting import dialogs
from mcp_agent.sessions.starting.dialogs import Step
from mcp_agent.sessions.starting.readiness import ReadinessClock
from mcp_agent.timeouts import PromptReady

MOST_DIALOG_STEPS = 40
"""A dialog that takes more key presses than this is not being answered by them."""

LOOKED_AT_FOR = timedelta(seconds=30)
"""A CLI that was launched long ago may still be silent for so long: nobody saw what it did before."""

LAST_LINES = 6
"""How much of a dead CLI's screen is told."""

_STARTING = frozenset({SessionState.STARTING, SessionState.BLOCKED})


async def wait_ready(
    session: LiveSession,
    limits: PromptReady,
    *,
    elapsed: timedelta = timedelta(0),
    clock: Callable[[], float] = anyio.current_time,
) -> SessionState:
    """Wait until the CLI shows its prompt and its bridge is connected; `blocked` when only a person can go on.

    `elapsed` is how long ago it was launched. Raises `PromptReadyTimedOut`, or `SessionEnded` as soon as the CLI is
    gone.
    """
    readiness = _clock_of(session, limits, elapsed=elapsed, now_seconds=clock())
    steps = 0
    while session.over is None and session.state in _STARTING:
        if (passed := readiness.passed(now_seconds=clock())) is not None:
            raise PromptReadyTimedOut(session.id, passed[1], passed[0], session.screen.text)
        if session.status.dialog is None:
            await _next_screen(session, readiness.remaining(now_seconds=clock()))
        else:
            did = await dialogs.step(session, trust=session.record.trust)
            if did is Step.HANDLED:
                steps += 1
                readiness.handled_dialog(now_seconds=clock())
            if did is Step.NOT_OURS or steps == MOST_DIALOG_STEPS:
                return SessionState.BLOCKED
        readiness.saw(session.screen.lines, now_seconds=clock())
    if session.over:
        raise SessionEnded(session.id, _last_words(session.over, session))
    return session.state


def _clock_of(session: LiveSession, limits: PromptReady, *, elapsed: timedelta, now_seconds: float) -> ReadinessClock:
    """A CLI that was launched earlier counts as silent since then, but for the time that nobody looked at it."""
    readiness = ReadinessClock(limits.inactivity, limits.absolute, now_seconds - elapsed.total_seconds())
    if elapsed:
        silent = min(elapsed, max(limits.inactivity - LOOKED_AT_FOR, timedelta(0)))
        readiness.saw(session.screen.lines, now_seconds=now_seconds - silent.total_seconds())
    return readiness


async def _next_screen(session: LiveSession, limit: timedelta) -> None:
    before = (session.status, session.screen)
    await session.wait_until(lambda: (session.status, session.screen) != before, limit=limit)


def _last_words(how: str, session: LiveSession) -> str:
    """How it ended, and the end of its screen: the reason often stands above the last line."""
    lines = [line.strip() for line in session.screen.lines if line.strip()]
    return f"{how}; the end of its screen: {' / '.join(lines[-LAST_LINES:])}" if lines else how
