"""Dialogs: recognised by their structure, answered by label and with consent, and never by position."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import cast

from mcp_agent.adapter import Blocked, Capability, Dialog, Screen
from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.chat.launching import READY_WITHIN
from mcp_agent.scenarios.conformance.asked.starting import FAMILIAR, STRANGER
from mcp_agent.scenarios.conformance.case import Case
from mcp_agent.scenarios.conformance.described.reading import check_dialog
from mcp_agent.scenarios.conformance.question import Asks, Question
from mcp_agent.scenarios.probes import Evidence, canary, require
from mcp_agent.server.client import Json

ASKS_WITHIN = timedelta(seconds=60)
TRUST = "directory trust"


async def nothing_is_trusted_without_consent(case: Case) -> Evidence:
    """In a directory that nobody trusts the session is blocked, says by what, and what a person can do."""
    session = case.started(STRANGER).session
    told = (session["state"], session["detail"])
    require(told == ("blocked", TRUST), f"the session is {told[0]} ({told[1]})")
    require(bool(session["advice"]), "nobody is told what to do about it")
    return {"advice": session["advice"]}


async def dialogs_are_read_by_label_in_either_order(case: Case) -> Evidence:
    """With its options the other way round, the same dialog has the same answer, found by its label."""
    screen = await _screen(case, case.started(STRANGER).id)
    dialog = _dialog(case, screen)
    check_dialog(dialog)
    require(dialog.answer is not None and len(dialog.options) > 1, "the dialog has no answer and other options")
    turned = _dialog(case, replace(screen, lines=turn_around(screen.lines, dialog.options)))
    require(turned.options == tuple(reversed(dialog.options)), f"its options were read as {list(turned.options)}")
    require(turned.answer == dialog.answer and turned.name == dialog.name, "it was taken for another dialog")
    require(turned.selected == dialog.selected, "another row was read as the selected one")
    return {"dialog": dialog.name, "options": list(dialog.options)}


async def trust_is_given_with_consent_and_by_label(case: Case) -> Evidence:
    """In a home that is not ours the CLI's own question is answered, and nothing is written for it."""
    chat = case.started(FAMILIAR)
    # A CLI may look busy for a moment after its prompt came up.
    now = await case.driver.until(chat.id, lambda shown: shown["state"] == "ready", limit=READY_WITHIN)
    require(now["state"] == "ready", f"the session is {now['state']} ({now['detail']})")
    events = await case.driver.events(chat.id)
    answered = [cast("Json", event["facts"]) for event in events if event["kind"] == "dialog.answered"]
    odd = [facts for facts in answered if facts["dialog"] != TRUST and "hook" not in str(facts["dialog"])]
    require(not odd, f"other dialogs were answered: {odd}")
    return {"answered": answered}


async def a_tool_that_nobody_allowed_is_asked_for(case: Case) -> Evidence:
    """The session is waiting for a permission, nothing ran, and an interrupt gives it back."""
    chat = await case.usable(FAMILIAR)
    sent = await case.driver.send(chat.id, prompts.run_command(f"printf %s {canary('FORBIDDEN')}"))
    now = await case.driver.until(chat.id, lambda shown: shown["state"] != "busy", limit=ASKS_WITHIN)
    told = (now["state"], now["detail"])
    require(told == ("waiting", "permission"), f"the session is {told[0]} ({told[1]})")
    require(not await case.driver.calls(chat.id), "the tool was called all the same")
    require(await case.driver.interrupt(chat.id), "nothing was interrupted")
    note = canary("AFTER")
    await chat.turn(prompts.remember_note(note), expect=f"ACK_{note}")
    return {"turn": sent["turn_id"]}


def turn_around(lines: Sequence[str], options: Sequence[str]) -> list[str]:
    """The screen with the labels of its options in the other order, and everything else where it was."""
    rows = [_row_of(lines, label) for label in options]
    turned = list(lines)
    for row, old, new in zip(rows, options, reversed(options), strict=True):
        turned[row] = lines[row].replace(old, new)
    return turned


def _row_of(lines: Sequence[str], label: str) -> int:
    pattern = re.compile(rf"\W*(?:\w{{1,2}}\W+)?{re.escape(label)}(?:\W*|\s{{2,}}.*)")
    rows = [row for row, line in enumerate(lines) if pattern.fullmatch(line)]
    require(bool(rows), f"the option {label!r} stands on no row of its own")
    return rows[-1]


async def _screen(case: Case, session_id: str) -> Screen:
    shown = await case.driver.look(session_id)
    return Screen(cast("list[str]", shown["lines"]), str(shown["title"]))


def _dialog(case: Case, screen: Screen) -> Dialog:
    found = [signal.dialog for signal in case.adapter.read(screen) if isinstance(signal, Blocked)]
    require(len(found) == 1, f"{len(found)} dialogs were read from the screen")
    return found[0]


QUESTIONS: tuple[Question[Asks], ...] = (
    Question(nothing_is_trusted_without_consent, Capability.DIRECTORY_TRUST),
    Question(dialogs_are_read_by_label_in_either_order, Capability.DIRECTORY_TRUST),
    Question(trust_is_given_with_consent_and_by_label, Capability.DIRECTORY_TRUST),
    Question(a_tool_that_nobody_allowed_is_asked_for, Capability.PERMISSION_PROMPTS),
)
