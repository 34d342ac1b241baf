"""Telling a session, once, what became of calls that it was told nothing about: on its next tool result."""

from collections.abc import Sequence
from dataclasses import replace

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Offered
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.errors import LedgerError
from mcp_agent.tools.tool import ToolResult

KEY = "earlier_calls"


def with_late_outcomes(result: ToolResult, ledger: Ledger, *, session_id: str) -> ToolResult:
    """The result, with the late outcomes that the session does not know of; each is offered to it once."""
    try:
        late = ledger.late_unoffered(session_id)
        for call in late:
            ledger.append(call.call_id, Offered())
    except LedgerError:
        return result
    if not late:
        return result
    structured = None if result.structured is None else {**result.structured, KEY: [_facts(call) for call in late]}
    return replace(result, text=f"{result.text}\n\n{_sentences(late)}", structured=structured)


def _sentences(calls: Sequence[CallState]) -> str:
    return "\n".join(
        f"NOTE: the earlier call {call.call_id} of {call.tool}, whose outcome was unknown, has ended: {call.happened}."
        f" Its record: get_tool_call(call_id={call.call_id!r})."
        for call in calls
    )


def _facts(call: CallState) -> dict[str, object]:
    return {"call_id": call.call_id, "tool": call.tool, "happened": call.happened, "message": _sentences([call])}
