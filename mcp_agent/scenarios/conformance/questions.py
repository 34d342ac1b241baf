"""Every question, in the order in which it is asked."""

from mcp_agent.scenarios.conformance.asked import (
    answering,
    dialogs,
    ending,
    interrupting,
    losing,
    prompting,
    sharing,
    starting,
    tools,
)
from mcp_agent.scenarios.conformance.described import identity, launching, limits, reading
from mcp_agent.scenarios.conformance.question import Asks, Describes, Question

DESCRIBED: tuple[Question[Describes], ...] = (
    *identity.QUESTIONS,
    *launching.QUESTIONS,
    *limits.QUESTIONS,
    *reading.QUESTIONS,
)
ASKED: tuple[Question[Asks], ...] = (
    *starting.QUESTIONS,
    *prompting.QUESTIONS,
    *tools.QUESTIONS,
    *answering.QUESTIONS,
    *interrupting.QUESTIONS,
    *starting.SIDE_BY_SIDE,
    *sharing.QUESTIONS,
    *dialogs.QUESTIONS,
    *losing.QUESTIONS,
    *ending.QUESTIONS,
)
