"""Telling a session, once, what became of calls that it was told nothing about: on its next tool result."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Offered
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.errors import LedgerError
from mcp_agent.tools.tool import ToolResult

KEY = "earlier_calls"

MOST_AT_ONCE = 5
"""Whoever has more calls to hear of hears of the others with the next results: a result stays short."""


def with_late_outcomes(result: ToolResult, ledger: Ledger, *, session_id: str) -> ToolResult:
    """The result, with the late outcomes that the session does not know of; each is offered to it once.

    A text that is JSON stays JSON.
    """
    try:
        late = ledger.late_unoffered(session_id)[:MOST_AT_ONCE]
        for call in late:
            ledger.append(call.call_id, Offered())
    except LedgerError:
        return result
    if not late:
        return result
    told = result.structured
    if told is None or KEY in told:
        return replace(result, text=f"{result.text}\n\n{_sentences(late)}")
    structured = {**told, KEY: [_facts(call) for call in late]}
    return replace(result, text=_text(result.text, told, structured, late), structured=structured)


def _text(text: str, told: Mapping[str, object], told_now: Mapping[str, object], late: Sequence[CallState]) -> str:
    if text == json.dumps(told, ensure_ascii=False):
        return json.dumps(told_now, ensure_ascii=False)
    return f"{text}\n\n{_sentences(late)}"


def _sentences(calls: Sequence[CallState]) -> str:
    return "\n".join(
        f"NOTE: the earlier call {call.call_id} of {call.tool}, whose outcome was unknown, has ended: {call.happened}."
        f" Its record: get_tool_call(call_id={call.call_id!r})."
        for call in calls
    )


def _facts(call: CallState) -> dict[str, object]:
    return {"call_id": call.call_id, "tool": call.tool, "happened": call.happened, "message": _sentences([call])}
