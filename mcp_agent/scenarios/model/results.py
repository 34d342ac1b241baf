"""What a tool's result says happened, read from its text alone."""

import json
import re

from mcp_agent.scenarios import prompts

_CALL_ID = re.compile(r"\bcall_id[\"']?\s*[=:]\s*[\"']?([\w-]+)")
_CANCELLED = re.compile(r"\A\s*CANCELL?ED\b|(?m:^CANCELED: layer=)", re.IGNORECASE)
"""A provider may write lines of its own before ours."""
_UNKNOWN = re.compile(r"^\s*TIMEOUT:|\boutcome\s*=\s*unknown\b", re.IGNORECASE)
_NOT_RUN = re.compile(r"^\s*This call was NOT run\.")
_SLEPT = re.compile(r"\bSLEPT_[\w-]+")


def output_of(text: str) -> str | None:
    """What the command printed; None when the result does not say that it ended by itself."""
    report = _report(text)
    if report is not None:
        return str(report["stdout"]).strip() if report.get("ended", "exited") == "exited" else None
    if unresolved(text) is not None:
        return None
    found = _SLEPT.search(text)
    return found[0] if found else None


def unresolved(text: str) -> str | None:
    """The honest answer when the call was cancelled or its outcome is unknown; None otherwise."""
    record = _object_in(text) or {}
    if record.get("outcome") == "unknown" or _UNKNOWN.search(text):
        found = _CALL_ID.search(text)
        return f"{prompts.UNKNOWN} {found[1]}" if found else prompts.UNKNOWN
    if record.get("ended") == "cancelled" or record.get("outcome") == "cancelled" or _CANCELLED.search(text):
        return prompts.CANCELLED
    return None


def call_id_of(text: str) -> str | None:
    """The id of the call that a result is about, if it names one."""
    found = _CALL_ID.search(text)
    return found[1] if found else None


def is_unknown(text: str) -> bool:
    """Whether the result says that nobody knows what happened."""
    return (unresolved(text) or "").startswith(prompts.UNKNOWN)


def stands_in_the_way(text: str) -> str | None:
    """The id of the earlier call whose record came instead of a run; None when the call was run."""
    record = _object_in(text) or {}
    found = _CALL_ID.search(text)
    return found[1] if found and (record.get("gated") is True or _NOT_RUN.search(text)) else None


def happened(text: str) -> str:
    """What the record of a call says happened."""
    return str((_object_in(text) or {}).get("happened") or "unknown")


def _report(text: str) -> dict[str, object] | None:
    """The shell tool's report, wherever it stands in the text."""
    record = _object_in(text)
    return record if record is not None and "stdout" in record else None


def _object_in(text: str) -> dict[str, object] | None:
    """The JSON object that begins at the first brace, since a provider may write a line of its own before it."""
    start = text.find("{")
    if start < 0:
        return None
    try:
        value, _ = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
