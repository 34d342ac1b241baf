"""What the scripted model was asked and what it said, in the order of the requests."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mcp_agent.scenarios.model.brain import answer
from mcp_agent.scenarios.model.conversation import Conversation, Reply
from mcp_agent.scenarios.model.failures import Refusal


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request that was answered with a reply; refused requests are not among them."""

    dialect: str
    conversation: Conversation
    reply: Reply
    body: Mapping[str, object] = field(repr=False)


@dataclass(slots=True)
class Journal:
    """The requests of one server, how it answers them, and how it refuses them when it is told to."""

    requests: list[RecordedRequest] = field(default_factory=list)
    refusals: int = 0
    """How many requests were refused, for whatever reason."""
    refusal: Refusal | None = None
    mind: Callable[[Conversation], Reply] = answer
    """Another one makes mistakes, for tests of whoever must notice them."""
