"""What a model is sent and what it says, in no API's own shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """Who said something. Instructions of the program around the model are the system's."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Said:
    """One text of one speaker."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asked for earlier."""

    call_id: str
    name: str
    arguments: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back from a call."""

    call_id: str
    text: str


Item = Said | ToolCall | ToolResult


def result_of(call: ToolCall, items: Sequence[Item]) -> str | None:
    """What came back from this call, if it is among these."""
    return next((item.text for item in items if isinstance(item, ToolResult) and item.call_id == call.call_id), None)


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool that the model may call; `namespace` where the API groups tools."""

    name: str
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """All that one request holds, oldest first."""

    items: tuple[Item, ...] = ()
    tools: tuple[ToolOffer, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """The model ends its turn with this."""

    text: str


@dataclass(frozen=True, slots=True)
class CallTool:
    """The model asks for one call before it goes on."""

    tool: ToolOffer
    arguments: Mapping[str, object] = field(default_factory=dict)


Reply = Text | CallTool


class BadRequest(Exception):
    """A request body that is not what its API documents; shown to the client as status 400."""
