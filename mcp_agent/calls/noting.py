"""Writing facts down from an event loop: the intent before a call, and the others in the middle of it."""

import logging
from datetime import timedelta

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Event, Intent
from mcp_agent.errors import LedgerUnusable, UnknownCall

SLOW_DISK = timedelta(milliseconds=5)
"""A disk that takes longer for an intent must not hold up the loop."""

log = logging.getLogger(__name__)


async def write_ahead(ledger: Ledger, call_id: str, intent: Intent) -> None:
    """Write down that a call is about to be made. Raises as `Ledger.intent` does: then it must not be made.

    On a quick disk the write takes less time than a change of threads, so only a slow disk gets a thread.
    """
    await checkpoint_if_cancelled()
    if ledger.intent_seconds < SLOW_DISK.total_seconds():
        ledger.intent(call_id, intent)
    else:
        await anyio.to_thread.run_sync(ledger.intent, call_id, intent)


def note(ledger: Ledger, call_id: str, *events: Event) -> None:
    """Add facts to a call, which goes on whether or not the file takes them; those that it does not are kept.

    A call that is not on record any more was forgotten by somebody: what becomes of it is logged.
    """
    try:
        ledger.append(call_id, *events)
    except (LedgerUnusable, UnknownCall) as error:
        log.warning("%s: %s: %s", call_id, error, ", ".join(map(repr, events)))
