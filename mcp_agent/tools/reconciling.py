"""After a crash: the calls of a server that is gone, found again by what they left behind.

Every one of them reads *unknown (runtime_lost)* at once. Work that outlived the server is waited for by its evidence,
and what it comes to is added to the record. Where the evidence is gone too, the record says so and stays unknown.
"""

import logging
import shutil
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio

from mcp_agent.calls import ledger_events as facts
from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.calls.noting import note
from mcp_agent.calls.outcomes import Answered
from mcp_agent.errors import LedgerUnusable
from mcp_agent.processes import ProcessIdentity, is_alive
from mcp_agent.state import StateDirectory
from mcp_agent.tools import gating, verdicts
from mcp_agent.tools.dispatch import Dispatcher, this_server
from mcp_agent.tools.tool import CallContext, Tool, recoverable

log = logging.getLogger(__name__)

KEPT_FOR = timedelta(days=30)
"""How long an ended call and its outputs are kept."""

GONE = "the server that ran it was lost, and nothing is left that tells what became of it"


def prepare(ledger: Ledger, state: StateDirectory) -> list[CallState]:
    """What a server does with the ledger before it serves: forget what is old, and find what was lost."""
    try:
        prune(ledger, state, older_than=KEPT_FOR)
    except LedgerUnusable as error:
        log.warning("nothing was pruned: %s", error)
    return mark_lost(ledger)


def prune(
    ledger: Ledger,
    state: StateDirectory,
    *,
    older_than: timedelta,
    runs: Callable[[str], bool] = lambda _: False,
) -> int:
    """Forget calls that ended longer ago, with their outputs; how many. Unknown ones, and what runs, are kept."""
    forgotten = ledger.prune(ledger.clock() - older_than.total_seconds(), keep=runs)
    for call_id in forgotten:
        shutil.rmtree(state.call(call_id), ignore_errors=True)
    return len(forgotten)


def mark_lost(ledger: Ledger) -> list[CallState]:
    """Write down that nobody waits for the calls of dead servers, and answer those whose work may be found again.

    Calls that an earlier start marked and could not follow to their end are among them.
    """
    me = this_server()
    for call in ledger.orphans(lambda owner: _runs(owner, me)):
        note(
            ledger,
            call.call_id,
            facts.WaitEnded(facts.WhyEnded.RUNTIME_LOST, max(0.0, ledger.clock() - call.started_at)),
        )
        log.warning("call %s of %s: its server was lost", call.call_id, call.session_id)
    return [call for call in ledger.unobserved() if not _runs(call.intent.owner, me)]


async def recover(dispatcher: Dispatcher, lost: list[CallState]) -> None:
    """Follow lost calls to their end, all at once."""
    async with anyio.create_task_group() as group:
        for call in lost:
            group.start_soon(_recover, dispatcher, call, name=f"recover {call.call_id}")


async def _recover(dispatcher: Dispatcher, call: CallState) -> None:
    with dispatcher.running.work(call.call_id, session_id=call.session_id):
        try:
            found = await _find(dispatcher.tools.get(call.tool), call, _context(dispatcher, call))
        except Exception:  # a tool's own code, about a call that nobody waits for
            log.exception("call %s could not be recovered", call.call_id)
            return
        if found not in call.evidence:
            _note(dispatcher, call, found)
        return
    if not dispatcher.server_stops():
        cancelled = facts.Outcome(facts.Happened.CANCELLED, detail="cancelled after its server was lost", late=True)
        _note(dispatcher, call, cancelled)


def _note(dispatcher: Dispatcher, call: CallState, found: facts.Outcome | facts.Evidence) -> None:
    note(dispatcher.ledger, call.call_id, found)
    if isinstance(found, facts.Outcome):
        dispatcher.tell(
            call.session_id, "tool.late_outcome", call_id=call.call_id, tool=call.tool, happened=found.happened
        )


async def _find(tool: Tool[Any] | None, call: CallState, context: CallContext) -> facts.Outcome | facts.Evidence:
    """What became of the call, once it has; or what its tool can still see of it."""
    lasting = None if tool is None else recoverable(tool)
    result = None if lasting is None else await lasting.recover(context)
    if result is not None:
        log.info("tool.late_outcome %s %s of %s: %s", call.call_id, call.tool, call.session_id, result.happened)
        return verdicts.observed(Answered(result), late=True)
    can_look = tool is not None and call.intent.working_directory is not None
    seen = await gating.evidence(tool, call, context=context) if tool is not None and can_look else None
    if seen is None or seen.verdict is facts.Verdict.CANNOT_TELL:
        return facts.Evidence(facts.Verdict.CANNOT_TELL, GONE)
    return seen


def _context(dispatcher: Dispatcher, call: CallState) -> CallContext:
    return CallContext(
        call_id=call.call_id,
        session_id=call.session_id,
        call_directory=dispatcher.state.call(call.call_id),
        working_directory=Path(call.intent.working_directory or "/"),
        environment=_NOTHING,
        work_limit=dispatcher.policy.server_tool,
        server_stops=dispatcher.server_stops,
    )


_NOTHING: Mapping[str, str] = {}


def _runs(owner: ProcessIdentity, me: ProcessIdentity) -> bool:
    """The directory has one server, so a call that is not ours and whose server is dead is nobody's."""
    return owner == me or is_alive(owner)
