"""Turning what a function returned into what a model reads, without pretending that all of it can be shown."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from mcp_agent.tools.clipping import clip
from mcp_agent.tools.jsonable import NotJson, jsonable
from mcp_agent.tools.tool import CallContext, ToolResult

SHOWN_BYTES = 48 << 10
"""What the model is shown of one result."""

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
    if len(raw) <= shown_bytes and len(json.dumps(text, ensure_ascii=False).encode()) <= shown_bytes:
        return ToolResult(text, structured)
    if len(raw) > KEPT_BYTES:
        return not_shown(value, f"it is too large: {len(raw)} bytes, {KEPT_BYTES} are the most", context, tool=tool)
    try:
        return ToolResult(clip(_keep(raw, context), None, budget_bytes=shown_bytes).text)
    except OSError as error:
        return not_shown(value, f"its {len(raw)} bytes cannot be kept: {error}", context, tool=tool)


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
