"""The chat completions API: role messages, `tool` messages, unnamed chunks with `[DONE]` at the end."""

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

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}
_USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


class ChatCompletionsDialect:
    name = "chat_completions"

    def parse(self, body: Mapping[str, object]) -> Conversation:
        messages = objects(body.get("messages"), "messages")
        if not messages:
            raise BadRequest("messages must hold at least one message")
        functions = [_object(tool.get("function")) for tool in objects(body.get("tools"), "tools")]
        tools = tuple(ToolOffer(str(function["name"])) for function in functions if "name" in function)
        return Conversation(tuple(item for message in messages for item in _items(message)), tools)

    def events(self, reply: Reply, *, model: str) -> Iterable[ServerSentEvent]:
        base = {"id": new_id("chatcmpl"), "object": "chat.completion.chunk", "created": 0, "model": model}
        for delta in _deltas(reply):
            yield ServerSentEvent({**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        last = {"index": 0, "delta": {}, "finish_reason": _finish_reason(reply)}
        yield ServerSentEvent({**base, "choices": [last]})
        yield ServerSentEvent({**base, "choices": [], "usage": _USAGE})
        yield ServerSentEvent("[DONE]")

    def document(self, reply: Reply, *, model: str) -> Mapping[str, object]:
        message: dict[str, object] = {"role": "assistant", "content": None}
        message |= {"content": reply.text} if isinstance(reply, Text) else {"tool_calls": [_call(reply)]}
        choice = {"index": 0, "message": message, "finish_reason": _finish_reason(reply)}
        return {
            "id": new_id("chatcmpl"),
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [choice],
            "usage": _USAGE,
        }

    def error(self, status: int, message: str) -> Mapping[str, object]:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "code": status}}


def _items(message: Mapping[str, object]) -> Iterator[Item]:
    """What one message holds: an assistant's calls come after its text."""
    role = message.get("role")
    if role == "tool":
        yield ToolResult(str(message.get("tool_call_id")), text_of(message.get("content")))
        return
    speaker = _ROLES.get(str(role))
    if speaker is None:
        raise BadRequest(f"unknown role {role!r}")
    if text := text_of(message.get("content")):
        yield Said(speaker, text)
    for call in objects(message.get("tool_calls"), "tool_calls"):
        function = _object(call.get("function"))
        yield ToolCall(str(call.get("id")), str(function.get("name")), arguments_of(function.get("arguments")))


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _call(reply: CallTool) -> dict[str, object]:
    function = {"name": reply.tool.name, "arguments": json.dumps(dict(reply.arguments))}
    return {"id": new_id("call"), "type": "function", "function": function}


def _deltas(reply: Reply) -> Iterator[Mapping[str, object]]:
    yield {"role": "assistant", "content": ""}
    if isinstance(reply, Text):
        for piece in pieces(reply.text):
            yield {"content": piece}
    else:
        yield {"tool_calls": [{"index": 0, **_call(reply)}]}


def _finish_reason(reply: Reply) -> str:
    return "tool_calls" if isinstance(reply, CallTool) else "stop"
