"""A session after a probe that failed: nothing runs in it, so that the next probe is about itself."""

from contextlib import suppress
from datetime import timedelta

import anyio

from mcp_agent.errors import McpAgentError
from mcp_agent.scenarios.chat.auditing import Audit
from mcp_agent.scenarios.chat.chat import Chat

OVER = frozenset({"exited", "stopped"})
SETTLES_WITHIN = timedelta(seconds=30)


async def settle(chat: Chat, audit: Audit) -> str | None:
    """Interrupt what still runs, and leave it out of the audit; what cannot be settled is the next probe's to find.

    Answers why nothing can be asked of the session any more: None when something can.
    """
    with suppress(McpAgentError), anyio.move_on_after(SETTLES_WITHIN.total_seconds()):
        now = await chat.driver.show(chat.id)
        if now["state"] in OVER:
            return f"the session is over: {now['state']} ({now['detail']})"
        if now["current_turn"] is not None:
            await chat.driver.interrupt(chat.id)
        await audit.skip(chat)
    return None
