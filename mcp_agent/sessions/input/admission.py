"""Whether a text may be placed in a session's composer: who it belongs to, what stands there, what the CLI asks."""

from datetime import UTC, datetime, timedelta

import anyio

from mcp_agent.errors import SendRefused, SessionBlocked, SessionEnded, TmuxError, TmuxUnavailable
from mcp_agent.sessions.input.composer import TAKES_NOTHING, clear, draft, see
from mcp_agent.sessions.input.restored import is_restored
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.signals import SessionState
from mcp_agent.sessions.starting import dialogs

FREE_WITHIN = timedelta(seconds=2)
"""A composer that is still drawn with an earlier prompt is empty by then; what stands there longer is a draft."""
LAST_KEYS_WITHIN = timedelta(milliseconds=150)
"""What somebody typed right before is drawn by then."""


async def free_composer(session: LiveSession, *, clear_draft: bool) -> None:
    """See to it that a text could be placed and would be nothing but our text. Raises as `send` does."""
    if session.over:
        raise SessionEnded(session.id, session.over)
    await dialogs.pass_by(session)
    try:
        free = await see(session, lambda: _is_known(session), limit=FREE_WITHIN)
        if is_restored(session) or (clear_draft and not free):
            free = await clear(session)
    except TmuxUnavailable as error:
        raise nothing_sent(session, error) from error
    _check_state(session)
    if not free:
        _check_draft(session, clear_draft=clear_draft)


def _is_known(session: LiveSession) -> bool:
    """Nothing more is to be waited for: it is free, or nobody's."""
    return session.state in TAKES_NOTHING or draft(session) == "" or is_restored(session)


def is_idle(session: LiveSession) -> bool:
    """Nothing runs, and the CLI takes a prompt that starts a turn: after a limit, once that is known to be over."""
    resets_at = session.status.resets_at
    works = session.state is SessionState.READY or (resets_at is not None and datetime.now(UTC) >= resets_at)
    return works and session.turns.current is None and session.state not in TAKES_NOTHING | {SessionState.BUSY}


def works(session: LiveSession) -> bool:
    """A turn runs, or the CLI works on something of its own."""
    return session.turns.current is not None or session.state is SessionState.BUSY


async def look_again(session: LiveSession, *, attended: bool) -> None:
    """Nobody types any more: what stands there now is all that there will be. Raises unless that is nothing."""
    await wait_for_last_keys(attended=attended)
    await session.look()
    _check_state(session)
    if draft(session) != "":
        _check_draft(session)


async def wait_for_last_keys(*, attended: bool) -> None:
    """What people who are attached typed right before is drawn when this returns."""
    if attended:
        await anyio.sleep(LAST_KEYS_WITHIN.total_seconds())


def _check_state(session: LiveSession) -> None:
    dialog = session.status.dialog
    if session.over:
        raise SessionEnded(session.id, session.over)
    if session.state is SessionState.BLOCKED and dialog is not None:
        raise SessionBlocked(session.id, dialog.name, dialog.advice, session.screen.text)
    if session.state is SessionState.WAITING:
        raise SendRefused(
            session.id, f"it waits for an answer ({session.status.detail}), a prompt would be taken as one"
        )
    if session.state is SessionState.STARTING:
        raise SendRefused(session.id, "it is still starting")


def _check_draft(session: LiveSession, *, clear_draft: bool = False) -> None:
    """The composer is not free: say what is in the way."""
    if draft(session) is None:
        raise SendRefused(session.id, "no prompt is visible on its screen")
    if clear_draft:
        raise SendRefused(session.id, "the draft in its composer could not be cleared")
    raise SendRefused(session.id, "somebody's draft stands in its composer; send with --clear-draft to discard it")


def nothing_sent(session: LiveSession, error: TmuxError) -> TmuxUnavailable:
    return TmuxUnavailable(f"session {session.id}: {error}; nothing was sent")
