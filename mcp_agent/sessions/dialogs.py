"""Answering a dialog: by its label, after a re-read, and only when somebody agreed."""

import logging

from mcp_agent.adapter import Dialog
from mcp_agent.sessions.live import LiveSession

log = logging.getLogger(__name__)


def may_answer(dialog: Dialog, *, trust: bool) -> bool:
    """Whether this dialog is ours to answer, with the consent that was given."""
    if dialog.answer is None or dialog.answer.label not in dialog.options:
        return False
    return dialog.answer.needs == "nothing" or (dialog.answer.needs == "trust" and trust)


async def answer(session: LiveSession, *, trust: bool) -> bool:
    """One step towards the answer of the dialog on the screen; False when there is none of ours.

    Each step moves the selection by one or confirms it, and reads the screen again before the next: the order of the
    options and the preselected one change between versions.
    """
    await session.look()
    dialog = session.status.dialog
    if dialog is None or dialog.answer is None or not may_answer(dialog, trust=trust):
        return False
    if dialog.options[dialog.selected] == dialog.answer.label:
        log.info("session %s: dialog %r answered with %r", session.id, dialog.name, dialog.answer.label)
        await session.terminal.press(session.pane, *session.adapter.confirm_keys)
    else:
        await session.terminal.press(session.pane, *session.adapter.next_option_keys)
    return True
