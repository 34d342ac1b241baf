"""The messages API: content blocks, tool results inside user messages, named events."""

import json
from collections.abc import Iterable, Iterator, Mapping

from mcp_agent.scenarios.model.conversation import (
    BadRequest,
    CallTool,
    Conversation,
    Item,
    Reply,
    Role,
    Said,
    Text,
    ToolCall,
    ToolOffer,
    ToolResult,
)
from mcp_agent.scenarios.model.dialect import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    ServerSentEvent,
    arguments_of,
    objects,
    pieces,
    text_of,
)
from mcp_agent.scenarios.model.identifiers import new_id

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class MessagesDialect:
    name = "messages"

    def parse(self, body: Mapping[str, object]) -> Conversation:
        items = [Said(Role.SYSTEM, text_of(body.get("system")))] if body.get("system") else []
        messages = objects(body.get("messages"), "messages")
        if not messages:
            raise BadRequest("messages must hold at least one message")
        tools = [ToolOffer(str(tool.get("name", ""))) for tool in objects(body.get("tools"), "tools")]
        return Conversation((*items, *(item for message in messages for item in _items(message))), tuple(tools))

    def events(self, reply: Reply, *, model: str) -> Iterable[ServerSentEvent]:
        message = {**self.document(reply, model=model), "content": [], "stop_reason": None}
        yield _event("message_start", message=message)
        yield _event("content_block_start", index=0, content_block=_empty_block(reply))
        for delta in _deltas(reply):
            yield _event("content_block_delta", index=0, delta=delta)
        yield _event("content_block_stop", index=0)
        delta = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage={"output_tokens": OUTPUT_TOKENS})
        yield _event("message_stop")

    def document(self, reply: Reply, *, model: str) -> Mapping[str, object]:
        block = _empty_block(reply)
        block |= {"text": reply.text} if isinstance(reply, Text) else {"input": dict(reply.arguments)}
        return {
            "id": new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [block],
            "stop_reason": _stop_reason(reply),
            "stop_sequence": None,
            "usage": {
                "input_tokens": INPUT_TOKENS,
                "output_tokens": OUTPUT_TOKENS,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
        }

    def error(self, status: int, message: str) -> Mapping[str, object]:
        return {"type": "error", "error": {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}}


def _items(message: Mapping[str, object]) -> Iterator[Item]:
    """A message's blocks in their order; several texts of one message stay apart."""
    try:
        role = Role(str(message.get("role")))
    except ValueError as problem:
        raise BadRequest(f"unknown role {message.get('role')!r}") from problem
    content = message.get("content")
    if content is None or isinstance(content, str):
        yield Said(role, content or "")
        return
    for block in objects(content, "content"):
        match block.get("type"):
            case "text":
                yield Said(role, text_of([block]))
            case "tool_use":
                yield ToolCall(str(block.get("id")), str(block.get("name")), arguments_of(block.get("input")))
            case "tool_result":
                yield ToolResult(str(block.get("tool_use_id")), text_of(block.get("content")))


def _event(name: str, **fields: object) -> ServerSentEvent:
    return ServerSentEvent({"type": name, **fields}, name)


def _empty_block(reply: Reply) -> dict[str, object]:
    if isinstance(reply, Text):
        return {"type": "text", "text": ""}
    return {"type": "tool_use", "id": new_id("toolu"), "name": reply.tool.name, "input": {}}


def _deltas(reply: Reply) -> Iterator[dict[str, object]]:
    if isinstance(reply, Text):
        for piece in pieces(reply.text):
            yield {"type": "text_delta", "text": piece}
    else:
        for piece in pieces(json.dumps(dict(reply.arguments))):
            yield {"type": "input_json_delta", "partial_json": piece}


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if isinstance(reply, CallTool) else "end_turn"
