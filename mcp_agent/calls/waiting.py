"""Waiting for what becomes of a call."""

from datetime import timedelta

import anyio

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.calls.running import RunningCalls

LOOK_AGAIN_AFTER = timedelta(seconds=2)
"""What people decide about a call is no end of it, and is found by then."""


async def until_settled(ledger: Ledger, running: RunningCalls, call_id: str, *, limit: timedelta) -> CallState:
    """The call once nothing more is to be learned of it, or as it is when the limit has passed.

    A call of which nothing runs here has no more to tell. Raises `UnknownCall`.
    """
    with anyio.move_on_after(limit.total_seconds()):
        while True:
            call = ledger.get(call_id)
            if call.is_settled or not (call.is_open or running.runs(call_id)):
                return call
            with anyio.move_on_after(LOOK_AGAIN_AFTER.total_seconds()):
                await running.ended(call_id)
    return ledger.get(call_id)
