"""What every model API has in common here: read a request, render a reply."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from mcp_agent.scenarios.model.conversation import BadRequest, Conversation, Reply

INPUT_TOKENS = 10
"""Reported as what a request cost."""

OUTPUT_TOKENS = 5
"""Reported as what a reply cost."""


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event of a streamed reply; `data` is JSON unless it is a string already."""

    data: Mapping[str, object] | str
    name: str | None = None

    def encode(self) -> bytes:
        heading = f"event: {self.name}\n" if self.name else ""
        data = self.data if isinstance(self.data, str) else json.dumps(self.data)
        return f"{heading}data: {data}\n\n".encode()


class Dialect(Protocol):
    """One model API."""

    @property
    def name(self) -> str: ...

    def parse(self, body: Mapping[str, object]) -> Conversation:
        """The conversation that a request holds; BadRequest when it holds none."""
        ...

    def events(self, reply: Reply, *, model: str) -> Iterable[ServerSentEvent]:
        """The reply as a stream."""
        ...

    def document(self, reply: Reply, *, model: str) -> Mapping[str, object]:
        """The reply as one document."""
        ...

    def error(self, status: int, message: str) -> Mapping[str, object]:
        """A refusal in this API's shape."""
        ...


def objects(value: object, where: str) -> list[Mapping[str, object]]:
    """A list of JSON objects; None counts as an empty one."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise BadRequest(f"{where} must be a list of objects")
    return value


def text_of(content: object) -> str:
    """The text of a content field: a string, a list of blocks, or something else that is shown as JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return json.dumps(content)
    return "\n".join(text for block in content if (text := _block_text(block)) is not None)


def _block_text(block: object) -> str | None:
    if isinstance(block, str):
        return block
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else None


def arguments_of(text: object) -> Mapping[str, object]:
    """Arguments as they stand in a call: an object, or its JSON; empty when they are neither."""
    try:
        value = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {}


def pieces(text: str) -> list[str]:
    """The text in a few parts, as a stream brings it; at least one."""
    size = max(1, len(text) // 8)
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]
