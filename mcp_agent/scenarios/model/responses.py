"""The responses API: a flat list of items, tools in namespaces, numbered events."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from mcp_agent.scenarios.model import programs
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

_CALLS = frozenset({"function_call", "custom_tool_call", "mcp_tool_call"})
_OUTPUTS = frozenset({f"{kind}_output" for kind in _CALLS})
_MORE_TOOLS = "additional_tools"
"""An item that offers tools, where the request itself does not."""
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}


class ResponsesDialect:
    name = "responses"

    def parse(self, body: Mapping[str, object]) -> Conversation:
        items = [Said(Role.SYSTEM, str(body["instructions"]))] if body.get("instructions") else []
        sent = body.get("input")
        if isinstance(sent, str):
            sent = [{"role": "user", "content": sent}]
        entries = objects(sent, "input")
        if not entries:
            raise BadRequest("input must hold at least one item")
        lists = [body, *(entry for entry in entries if entry.get("type") == _MORE_TOOLS)]
        tools = [offer for held in lists for tool in objects(held.get("tools"), "tools") for offer in _offers(tool)]
        said = programs.joined([item for entry in entries for item in _items(entry)])
        return Conversation((*items, *said), tuple(tools))

    def events(self, reply: Reply, *, model: str) -> Iterable[ServerSentEvent]:
        response = _response(model, [])
        item = _item(reply)
        numbers = count()
        yield _event(numbers, "response.created", response=response)
        steps = _text_steps(item, reply.text) if isinstance(reply, Text) else _call_steps(item)
        for name, fields in steps:
            yield _event(numbers, name, output_index=0, **fields)
        yield _event(numbers, "response.output_item.done", output_index=0, item=item)
        finished = {**_response(model, [item], status="completed"), "id": response["id"]}
        yield _event(numbers, "response.completed", response=finished)

    def document(self, reply: Reply, *, model: str) -> Mapping[str, object]:
        return _response(model, [_item(reply)], status="completed")

    def error(self, status: int, message: str) -> Mapping[str, object]:
        return {"error": {"message": message, "type": "invalid_request_error" if status < 500 else "server_error"}}


def _items(entry: Mapping[str, object]) -> Iterator[Item]:
    kind = entry.get("type", "message")
    if kind == "message":
        role = _ROLES.get(str(entry.get("role")))
        if role is None:
            raise BadRequest(f"unknown role {entry.get('role')!r}")
        yield Said(role, text_of(entry.get("content")))
    elif kind in _CALLS:
        call_id, source = str(entry.get("call_id")), entry.get("input")
        called = programs.call_in(source, call_id) if isinstance(source, str) else None
        arguments = arguments_of(entry.get("arguments", source))
        yield called or ToolCall(call_id, str(entry.get("name")), arguments)
    elif kind in _OUTPUTS:
        yield ToolResult(str(entry.get("call_id")), text_of(entry.get("output")))


def _offers(tool: Mapping[str, object]) -> Iterator[ToolOffer]:
    name = str(tool.get("name") or tool.get("type"))
    yield from programs.offers(tool)
    if tool.get("type") != "namespace":
        yield ToolOffer(name)
        return
    for inner in objects(tool.get("tools"), f"tools of {name}"):
        yield from programs.offers(inner)
        yield ToolOffer(str(inner.get("name")), name)


def _response(model: str, output: list[Mapping[str, object]], *, status: str = "in_progress") -> dict[str, object]:
    usage = {
        "input_tokens": INPUT_TOKENS,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }
    return {
        "id": new_id("resp"),
        "object": "response",
        "status": status,
        "model": model,
        "output": output,
        "usage": usage if status == "completed" else None,
    }


def _item(reply: Reply) -> dict[str, object]:
    """The finished output item; a tool of a namespace is called by both names, never by a joined one."""
    if isinstance(reply, Text):
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        return {
            "id": new_id("msg"),
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
    if reply.tool.namespace == programs.NAMESPACE:
        return _program_item(reply)
    call: dict[str, object] = {
        "id": new_id("fc"),
        "type": "function_call",
        "status": "completed",
        "call_id": new_id("call"),
        "name": reply.tool.name,
        "arguments": json.dumps(dict(reply.arguments)),
    }
    return call if reply.tool.namespace is None else {**call, "namespace": reply.tool.namespace}


def _program_item(reply: CallTool) -> dict[str, object]:
    return {
        "id": new_id("ctc"),
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": new_id("call"),
        "name": programs.PROGRAM_TOOL,
        "input": programs.program(reply),
    }


def _text_steps(item: Mapping[str, object], text: str) -> Iterator[tuple[str, dict[str, object]]]:
    place = {"item_id": item["id"], "content_index": 0}
    begun = {**item, "status": "in_progress", "content": []}
    yield "response.output_item.added", {"item": begun}
    yield "response.content_part.added", {**place, "part": {"type": "output_text", "text": "", "annotations": []}}
    for piece in pieces(text):
        yield "response.output_text.delta", {**place, "delta": piece}
    yield "response.output_text.done", {**place, "text": text}


def _call_steps(item: Mapping[str, object]) -> Iterator[tuple[str, dict[str, object]]]:
    kind, key = ("custom_tool_call_input", "input") if "input" in item else ("function_call_arguments", "arguments")
    yield "response.output_item.added", {"item": {**item, "status": "in_progress", key: ""}}
    yield f"response.{kind}.delta", {"item_id": item["id"], "delta": item[key]}
    yield f"response.{kind}.done", {"item_id": item["id"], key: item[key]}


def _event(numbers: Iterator[int], name: str, **fields: object) -> ServerSentEvent:
    return ServerSentEvent({"type": name, "sequence_number": next(numbers), **fields}, name)
