"""Writing facts down in the middle of a call, which goes on whether or not the ledger takes them."""

import logging

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Event
from mcp_agent.errors import LedgerUnusable

log = logging.getLogger(__name__)


def note(ledger: Ledger, call_id: str, *events: Event) -> None:
    """Add facts to a call. What the file does not take now is kept and written with its next facts."""
    try:
        ledger.append(call_id, *events)
    except LedgerUnusable as error:
        log.warning("%s: %s", call_id, error)
