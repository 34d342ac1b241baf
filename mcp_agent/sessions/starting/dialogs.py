"""Answering a dialog: by its label, after a re-read, and only when somebody agreed."""

import logging
from datetime import timedelta
from enum import Enum, auto

from mcp_agent.adapter import Dialog
from mcp_agent.errors import TmuxError
from mcp_agent.sessions.live import LiveSession

log = logging.getLogger(__name__)

MOVED_WITHIN = timedelta(seconds=3)
"""Moving again any sooner might be one step too many: a CLI can take a key long before it draws what came of it."""
CONFIRMED_WITHIN = timedelta(seconds=10)
"""Confirming again any sooner might answer the next dialog with whatever it preselects."""
MOST_STEPS_BY_THE_WAY = 10
DRAWN_WITHIN = timedelta(seconds=1)
"""A dialog that is drawn half looks like an unknown one until then."""


class Step(Enum):
    """What one look at a dialog led to."""

    HANDLED = auto()
    """A key was pressed towards its answer."""
    LOOK_AGAIN = auto()
    """It is gone, is another one, or could not be read."""
    NOT_OURS = auto()
    """It stands, and only a person may answer it."""


def may_answer(dialog: Dialog, *, trust: bool) -> bool:
    """Whether this dialog is ours to answer, with the consent that was given."""
    if dialog.answer is None or dialog.answer.label not in dialog.options or dialog.selected >= len(dialog.options):
        return False
    return dialog.answer.needs == "nothing" or (dialog.answer.needs == "trust" and trust)


async def pass_by(session: LiveSession) -> None:
    """Answer what stands in the way of a prompt, as far as that needs nobody's word: an offer that may be declined."""
    for _ in range(MOST_STEPS_BY_THE_WAY):
        dialog = session.status.dialog
        if dialog is None or session.over or not may_answer(dialog, trust=False):
            return
        await step(session, trust=False)


async def step(session: LiveSession, *, trust: bool) -> Step:
    """One step towards the answer of the dialog on the screen.

    A step moves the selection by one or confirms it, and the screen is read again before the next: the order of the
    options and the preselected one change between versions.
    """
    try:
        await session.look()
        dialog = session.status.dialog
        if dialog is None or session.over:
            return Step.LOOK_AGAIN
        if may_answer(dialog, trust=trust):
            return await _press(session, dialog)
        return Step.LOOK_AGAIN if await _changes(session, dialog, limit=DRAWN_WITHIN) else Step.NOT_OURS
    except TmuxError as error:
        log.warning("session %s: %s; its dialog is looked at again", session.id, error)
        await session.wait_until(lambda: session.over is not None, limit=DRAWN_WITHIN)
        return Step.LOOK_AGAIN


async def _press(session: LiveSession, dialog: Dialog) -> Step:
    assert dialog.answer is not None
    if dialog.options[dialog.selected] == dialog.answer.label:
        log.info("session %s: dialog %r answered with %r", session.id, dialog.name, dialog.answer.label)
        session.tell("dialog.answered", dialog=dialog.name, label=dialog.answer.label)
        await session.terminal.press(session.pane, *session.adapter.confirm_keys)
        await _changes(session, dialog, limit=CONFIRMED_WITHIN)
    else:
        await session.terminal.press(session.pane, *session.adapter.next_option_keys)
        await _changes(session, dialog, limit=MOVED_WITHIN)
    return Step.HANDLED


async def _changes(session: LiveSession, dialog: Dialog, *, limit: timedelta) -> bool:
    """Whether the dialog goes, or becomes another one, within the limit."""
    return await session.wait_until(lambda: session.status.dialog != dialog or session.over is not None, limit=limit)
