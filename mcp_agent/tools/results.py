"""Turning what a function returned into what a model reads, without pretending that all of it can be shown."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from mcp_agent.tools.bounds import SHOWN_BYTES, json_bytes
from mcp_agent.tools.clipping import clip
from mcp_agent.tools.jsonable import NotJson, jsonable
from mcp_agent.tools.tool import CallContext, ToolResult

KEPT_BYTES = 16 << 20
"""The largest result that is kept."""

LONGEST_PROBLEM = 500

RESULT_FILE = "result"
"""The whole of a result that is shown in part, in the call's directory."""


def to_result(value: object, context: CallContext, *, tool: str, shown_bytes: int = SHOWN_BYTES) -> ToolResult:
    """The answer of work that has returned.

    Text stays text; everything else becomes JSON, and a mapping is structured content too. What JSON cannot hold gives
    an answer that says both: the work was done, and its result cannot be shown.
    """
    try:
        text, structured = _text_and_structure(value)
    except NotJson as problem:
        return not_shown(value, str(problem), context, tool=tool)
    raw = text.encode()
    if len(raw) <= shown_bytes and json_bytes(text) <= shown_bytes:
        if structured is None or json_bytes(structured) <= shown_bytes:
            return ToolResult(text, structured)
        return _without_structure(text, structured, context)
    if len(raw) > KEPT_BYTES:
        return not_shown(value, f"it is too large: {len(raw)} bytes, {KEPT_BYTES} are the most", context, tool=tool)
    try:
        shown = clip(_keep(raw, context), None, budget_bytes=shown_bytes - json_bytes(_where(context)))
        return ToolResult(shown.text + _where(context))
    except OSError as error:
        return not_shown(value, f"its {len(raw)} bytes cannot be kept: {error}", context, tool=tool)


def _without_structure(text: str, structured: Mapping[str, object], context: CallContext) -> ToolResult:
    """A short text beside long structured content, of which some CLIs would show nothing else."""
    raw = json.dumps(structured, ensure_ascii=False).encode()
    told = f"{text}\n[... {len(raw)} bytes of structured content omitted ...]"
    if len(raw) > KEPT_BYTES:
        return ToolResult(told)
    try:
        _keep(raw, context)
    except OSError:
        return ToolResult(told)
    return ToolResult(told + _where(context))


def _where(context: CallContext) -> str:
    return f"\n[get_tool_output reads all of it, by call_id={context.call_id}]"


def not_shown(value: object, problem: str, context: CallContext, *, tool: str) -> ToolResult:
    """The answer of work that succeeded with a result that nobody can read."""
    message = (
        f"The work was done, but its result, of type {type(value).__name__}, cannot be shown:"
        f" {problem[:LONGEST_PROBLEM]}. Do not run it again for the result's sake; check for its effect where you need"
        " to know more."
    )
    facts = {"outcome": "succeeded", "result_shown": False, "call_id": context.call_id, "tool": tool}
    text = (
        f"ERROR: layer=server_tool owner=server tool={tool} session={context.session_id}"
        f" call_id={context.call_id} outcome=succeeded: {message}"
    )
    return ToolResult(text, {**facts, "message": message})


def _text_and_structure(value: object) -> tuple[str, Mapping[str, object] | None]:
    if isinstance(value, ToolResult):
        structured = None if value.structured is None else jsonable(value.structured)
        return str(jsonable(value.text)), structured if isinstance(structured, dict) else None
    plain = jsonable(value)
    if isinstance(plain, str):
        return plain, None
    return json.dumps(plain, ensure_ascii=False, allow_nan=False), plain if isinstance(plain, dict) else None


def _keep(raw: bytes, context: CallContext) -> Path:
    context.call_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = context.call_directory / RESULT_FILE
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(raw)
    return path
