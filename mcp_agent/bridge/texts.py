"""What the model reads when the bridge has no result to pass on: who stopped, where, and the next sensible action."""

import os
import time

_LONGEST_NAME = 128
_LONGEST_REFUSAL = 8_000


class Call:
    """One tool call as the bridge knows it; its id is minted here."""

    __slots__ = ("call_id", "limit_seconds", "session", "started", "tool")

    def __init__(self, session: str, tool: str, limit_seconds: float) -> None:
        self.session, self.tool, self.limit_seconds = session, _plain(tool), limit_seconds
        self.call_id = f"call_{os.urandom(10).hex()}"
        self.started = time.monotonic()

    def fields(self, layer: str, owner: str) -> str:
        elapsed_seconds = time.monotonic() - self.started
        return (
            f"layer={layer} owner={owner} tool={self.tool} session={self.session} timeout={self.limit_seconds:g}s"
            f" elapsed={elapsed_seconds:.1f}s call_id={self.call_id}"
        )

    @property
    def deadline(self) -> float:
        return self.started + self.limit_seconds

    @property
    def look_up(self) -> str:
        return f"Look it up with get_tool_call (or `mcp-agent calls show {self.call_id}`) before doing it again."


def timed_out(call: Call) -> str:
    return (
        f"TIMEOUT: {call.fields('bridge_http', 'mcpbridge')} outcome=unknown\n"
        f"This bridge stopped waiting and ended the request, which asked the server to cancel the work;"
        f" the operation may still have happened, and its record says what did. {call.look_up}"
    )


def unknown(call: Call, problem: str) -> str:
    return (
        f"ERROR: {call.fields('bridge_http', 'mcpbridge')} outcome=unknown: {problem}\n"
        f"The call was sent and no answer came back: the operation may have happened. {call.look_up}"
    )


def not_started(call: Call, problem: str) -> str:
    return (
        f"ERROR: {call.fields('bridge_http', 'mcpbridge')} outcome=not_started: {problem}\n"
        f"The call was not sent, so nothing happened: it is safe to do it again."
    )


def refused(call: Call, message: str) -> str:
    omitted = len(message) - _LONGEST_REFUSAL
    if omitted > 0:
        message = f"{message[:_LONGEST_REFUSAL]} [... {omitted} characters omitted ...]"
    return f"ERROR: {call.fields('server_tool', 'server')}: {message}"


def list_missing(session: str, problem: str) -> str:
    return f"layer=bridge_http owner=mcpbridge tool=tools/list session={session}: {problem}"


def _plain(name: str) -> str:
    """The name as one word, so that it cannot add fields of its own to a text."""
    return "".join(character if character.isprintable() and character != " " else "_" for character in name)[
        :_LONGEST_NAME
    ]
