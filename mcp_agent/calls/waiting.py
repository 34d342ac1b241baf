"""Waiting for what becomes of a call that somebody else runs, or that another process may write about."""

from datetime import timedelta

import anyio

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_fold import CallState

LOOK_AGAIN_AFTER = timedelta(milliseconds=200)


async def until_settled(ledger: Ledger, call_id: str, *, limit: timedelta) -> CallState:
    """The call once nothing more is to be waited for, or as it is when the limit has passed. Raises `UnknownCall`."""
    with anyio.move_on_after(limit.total_seconds()):
        while True:
            if (call := ledger.get(call_id)).is_settled:
                return call
            await anyio.sleep(LOOK_AGAIN_AFTER.total_seconds())
    return ledger.get(call_id)
