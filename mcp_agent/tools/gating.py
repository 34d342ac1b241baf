"""The retry gate in front of a tool: what a call asks for, and whether it may run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_agent.calls import gate
from mcp_agent.calls import ledger_events as facts
from mcp_agent.calls.digest import digest
from mcp_agent.calls.gate import ALLOW_DUPLICATE, AnswerWith, Because, Run, ToolFacts
from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import (
    DuplicateAllowed,
    Evidence,
    Gated,
    Happened,
    Intent,
    Offered,
    WaitEnded,
    WhyEnded,
)
from mcp_agent.calls.ledger_fold import CallState
from mcp_agent.calls.noting import note
from mcp_agent.errors import BadArguments, LedgerUnusable
from mcp_agent.tools.tool import CallContext, Tool

_PARAMETER = {
    "type": "boolean",
    "description": "Run the call although an identical earlier one has an unknown outcome. Say so only when a second"
    " run is what you want.",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call's own arguments, and whether its caller accepts that it may run twice."""

    arguments: Mapping[str, object]
    digest: str
    allow_duplicate: bool

    @classmethod
    def of(cls, tool: Tool[Any], given: Mapping[str, object]) -> "Wanted":
        arguments = dict(given)
        allow = arguments.pop(ALLOW_DUPLICATE, False) if is_gated(tool) else False
        if not isinstance(allow, bool):
            raise BadArguments(tool.name, [f"{ALLOW_DUPLICATE}: must be true or false"])
        return cls(arguments, digest(tool.name, arguments), allow)


def is_gated(tool: Tool[Any]) -> bool:
    """Whether the gate stands before this tool, with a parameter of its own beside the tool's."""
    own = tool.input_schema.get("properties")
    return not (tool.read_only or tool.idempotent or (isinstance(own, dict) and ALLOW_DUPLICATE in own))


def schema_of(tool: Tool[Any]) -> Mapping[str, object]:
    """The arguments that a model may give, the gate's own included."""
    properties = tool.input_schema.get("properties")
    if not is_gated(tool):
        return tool.input_schema
    known = properties if isinstance(properties, dict) else {}
    return {**tool.input_schema, "properties": {**known, ALLOW_DUPLICATE: _PARAMETER}}


async def decide(
    ledger: Ledger,
    tool: Tool[Any],
    intent: Intent,
    *,
    allow_duplicate: bool,
    context: Callable[[CallState], CallContext],
) -> Run | AnswerWith:
    """Whether this call may run, after looking at what became of identical earlier ones."""
    if tool.read_only or tool.idempotent:
        return Run(Because.HARMLESS)
    earlier = ledger.similar(intent.session_id, intent.tool, digest=intent.digest)
    standing = gate.in_the_way(earlier)
    if standing and is_gated(tool) and not allow_duplicate:
        for call in standing:
            if call.happened is Happened.UNKNOWN:
                await look(ledger, tool, call, context=context(call))
        earlier = ledger.similar(intent.session_id, intent.tool, digest=intent.digest)
    return gate.decide(ToolFacts(read_only=False, idempotent=False), earlier, allow_duplicate=allow_duplicate)


async def look(ledger: Ledger, tool: Tool[Any], call: CallState, *, context: CallContext) -> None:
    """Ask the tool what became of an earlier call, and write down what it says, unless it says nothing new."""
    found = await evidence(tool, call, context=context)
    if found is not None and found not in call.evidence:
        note(ledger, call.call_id, found)


async def evidence(tool: Tool[Any], call: CallState, *, context: CallContext) -> Evidence | None:
    """What the tool's own check says of an earlier call; None when it has none."""
    try:
        arguments = tool.validate(call.arguments)
    except BadArguments as error:
        return Evidence(facts.Verdict.CANNOT_TELL, f"the tool takes other arguments now: {error}")
    verdict = await tool.check(call.call_id, context, arguments)
    return None if verdict is None else Evidence(facts.Verdict(verdict.evidence), verdict.detail)


def note_decision(ledger: Ledger, call_id: str, decision: Run | AnswerWith) -> None:
    """Write down why the call is not run, or that it may be a second run; raises `LedgerUnusable` for that."""
    if isinstance(decision, AnswerWith):
        _note_gated(ledger, call_id, decision)
    else:
        _note_duplicates(ledger, call_id, decision)


def _note_gated(ledger: Ledger, call_id: str, decision: AnswerWith) -> None:
    """That the call was answered with the record of an earlier one, and not run."""
    earlier = decision.earlier.call_id
    not_started = facts.Outcome(Happened.NOT_STARTED, detail=f"gated by {earlier}")
    note(ledger, call_id, Gated(earlier), WaitEnded(WhyEnded.RESULT, 0.0), not_started)
    if decision.earlier.late:
        note(ledger, earlier, Offered(asked=True))


def _note_duplicates(ledger: Ledger, call_id: str, decision: Run) -> None:
    """That somebody accepted a second run is on record before it begins; raises `LedgerUnusable`."""
    allowed = [DuplicateAllowed(earlier, facts.Decider.AGENT) for earlier in decision.duplicate_of]
    if not allowed:
        return
    try:
        ledger.append(call_id, *allowed)
    except LedgerUnusable:
        note(ledger, call_id, WaitEnded(WhyEnded.RESULT, 0.0), facts.Outcome(Happened.NOT_STARTED))
        raise
