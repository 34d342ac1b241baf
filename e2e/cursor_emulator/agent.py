"""Turns: one submitted prompt until its one end. Prompts that come meanwhile wait among the follow-ups."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from adapters.scripted_agent.model import Answer, CallRequest, Reply, Tools
from adapters.scripted_agent.transcript import Entry, Transcript
from e2e.cursor_emulator.mcp import TIMED_OUT
from e2e.cursor_emulator.permissions import Permissions

SERVER = "api-bridge"
SKIPPED = "The user skipped this tool call; it was not run."
CANCELLED = "The user cancelled this tool call; its outcome is unknown."


class Phase(StrEnum):
    IDLE = "idle"
    THINKING = "thinking"
    ASKING = "asking"
    CALLING = "calling"


class Ports(Protocol):
    """What an agent needs from outside. Everything returns at once."""

    def think(self, request: int, entries: Sequence[Entry], tools: Tools) -> None: ...

    def call(self, tool: str, arguments: Mapping[str, object]) -> int: ...

    def cancel(self, call: int) -> None: ...

    def tell(self, event: Mapping[str, object]) -> None: ...


@dataclass(slots=True)
class Agent:
    ports: Ports
    transcript: Transcript
    permissions: Permissions
    shown: Path
    """The redacted transcript, which others may read."""
    restore: Callable[[str], None] = lambda _: None
    """Takes the prompt of a turn that was stopped."""
    phase: Phase = Phase.IDLE
    tools: Tools = ()
    follow_ups: list[str] = field(default_factory=list)
    asked: CallRequest | None = None
    _generation: str = ""
    _prompt: str = ""
    _request: int = 0
    _call: int | None = None

    @property
    def is_working(self) -> bool:
        return self.phase is not Phase.IDLE

    def submit(self, text: str) -> None:
        """Starts a turn, or waits for the end of the one that runs."""
        if self.is_working:
            self.follow_ups.append(text)
        else:
            self._start(text)

    def send_now(self) -> None:
        """The first follow-up takes the place of the turn that runs."""
        if self.is_working and self.follow_ups:
            self.interrupt()

    def interrupt(self) -> None:
        """Ends the running turn at once. Its prompt comes back into the composer, unless a follow-up waits."""
        if not self.is_working:
            return
        if self.phase is Phase.CALLING and self._call is not None:
            self.ports.cancel(self._call)
            self._record_result(CANCELLED)
        elif self.phase is Phase.ASKING:
            self._record_result(SKIPPED)
        self.transcript.append("interrupted")
        if not self.follow_ups:
            self.restore(self._prompt)
        self._end("aborted")

    def replied(self, request: int, reply: Reply) -> None:
        """An answer to a turn that is over is dropped."""
        if self.phase is not Phase.THINKING or request != self._request:
            return
        if isinstance(reply, Answer):
            self.transcript.append("assistant", text=reply.text)
            self._tell("afterAgentResponse", text=reply.text)
            self._end("completed")
            return
        self.asked = reply
        self.transcript.append("tool_call", call_id=reply.call_id, tool=reply.tool, arguments=dict(reply.arguments))
        if self.permissions.may(SERVER, reply.tool):
            self._begin_call(reply)
        else:
            self.phase = Phase.ASKING

    def failed(self, request: int, problem: str) -> None:
        if self.phase is Phase.THINKING and request == self._request:
            self._end("error", error_message=problem)

    def permitted(self, *, always: bool = False) -> None:
        if self.phase is Phase.ASKING and self.asked is not None:
            if always:
                self.permissions.allow(SERVER, self.asked.tool)
            self._begin_call(self.asked)

    def skipped(self) -> None:
        if self.phase is Phase.ASKING:
            self._record_result(SKIPPED)
            self._think()

    def answered(self, call: int, text: str) -> None:
        if self.phase is Phase.CALLING and call == self._call:
            self._record_result(text)
            self._think()

    def dropped(self, call: int) -> None:
        """The call took too long: the server is told to cancel it, and the model that it timed out."""
        if self.phase is Phase.CALLING and call == self._call:
            self.ports.cancel(call)
            self.answered(call, TIMED_OUT)

    def _start(self, text: str) -> None:
        self._generation, self._prompt = str(uuid.uuid4()), text
        self.transcript.append("user", text=text)
        self._tell("beforeSubmitPrompt", prompt=text, attachments=[])
        self._think()

    def _think(self) -> None:
        self.phase, self._request = Phase.THINKING, self._request + 1
        self.ports.think(self._request, tuple(self.transcript.entries), self.tools)

    def _begin_call(self, request: CallRequest) -> None:
        self.phase = Phase.CALLING
        self._call = self.ports.call(request.tool, request.arguments)

    def _record_result(self, text: str) -> None:
        if self.asked is not None:
            self.transcript.append("tool_result", call_id=self.asked.call_id, text=text)
        self.asked = self._call = None

    def _end(self, status: str, **more: object) -> None:
        self.phase = Phase.IDLE
        self.transcript.append("turn_end", outcome=status, error=more.get("error_message"))
        self._write_shown()
        self._tell("stop", status=status, loop_count=0, **more)
        if self.follow_ups:
            self._start(self.follow_ups.pop(0))

    def _write_shown(self) -> None:
        """What was said, and nothing of tools."""
        self.shown.parent.mkdir(parents=True, exist_ok=True)
        said = [entry for entry in self.transcript.entries if entry["type"] in {"user", "assistant"}]
        lines = [json.dumps({"role": entry["type"], "message": {"content": entry["text"]}}) for entry in said]
        self.shown.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def _tell(self, name: str, **fields: object) -> None:
        self.ports.tell({"hook_event_name": name, "generation_id": self._generation, **fields})
