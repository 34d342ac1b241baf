"""The words in which a session is told of the end of an execution that it started."""

import re

from mcp_agent.executions.records import ExecutionRecord

LONGEST_TOLD = 16_000
"""Characters of a final text; `get_execution` has all of it."""
_UNSENDABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def told(record: ExecutionRecord) -> str:
    """What the parent's session is given as a prompt."""
    outcome, who = record.outcome, record.agent or record.child.provider
    head = f"[execution {record.id} of agent {who} has ended: {record.state}]"
    if outcome is None:
        return head
    lines = [head, *([] if outcome.ended_by == "result" and outcome.final_text else [outcome.reason])]
    if outcome.final_text:
        lines += ["Its final answer:", shortened(outcome.final_text, record.id)]
    return _UNSENDABLE.sub("\N{REPLACEMENT CHARACTER}", "\n".join(lines))


def shortened(text: str, execution_id: str) -> str:
    """The beginning and the end of a text that is too long to be told."""
    if len(text) <= LONGEST_TOLD:
        return text
    half = LONGEST_TOLD // 2
    left_out = len(text) - 2 * half
    note = f"[… {left_out} characters left out; get_execution(execution_id={execution_id!r}) has them …]"
    return f"{text[:half]}\n{note}\n{text[-half:]}"
