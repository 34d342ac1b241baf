"""Turns: one submitted prompt until its one end, with the tool calls and the live input in between.

The runner acts only through its ports and is told everything by calls, so it needs no terminal and no threads.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from adapters.scripted_agent.model import Answer, CallRequest, Reply, Tokens, Tools
from adapters.scripted_agent.transcript import Entry, Transcript

REFUSED = "The user refused this tool call; it was not started."
CALL_INTERRUPTED = "The user interrupted this call; its outcome is unknown."


class Phase(StrEnum):
    STARTING = "starting"
    """The bridge has not told its tools yet; prompts are held."""
    IDLE = "idle"
    THINKING = "thinking"
    ASKING = "asking"
    """The user is asked whether a call may be made."""
    CALLING = "calling"


class Ports(Protocol):
    """What a runner needs from the outside. Everything returns at once."""

    def think(self, request: int, entries: Sequence[Entry], tools: Tools) -> None:
        """Asks the model; the answer comes as `replied` or `failed` with the same number."""
        ...

    def call(self, tool: str, arguments: Mapping[str, object]) -> int:
        """Starts a call; its answer comes as `answered` with the number that is returned."""
        ...

    def cancel(self, call: int) -> None: ...

    def emit(self, event: Mapping[str, object]) -> None: ...


@dataclass(slots=True)
class Runner:
    ports: Ports
    transcript: Transcript
    may_call: Callable[[str], bool]
    phase: Phase = Phase.STARTING
    tools: Tools = ()
    queued: list[str] = field(default_factory=list)
    """Prompts that wait for the running turn to take them, or for the first turn to be possible."""
    asked: CallRequest | None = None
    """The call that the model wants, from its reply until its result."""
    _turn: int = 0
    _request: int = 0
    _call: int | None = None
    _said: list[str] = field(default_factory=list)
    _spent: Tokens | None = None

    def __post_init__(self) -> None:
        self._turn = self.transcript.turns

    @property
    def is_working(self) -> bool:
        return self.phase not in {Phase.STARTING, Phase.IDLE}

    def tools_known(self, tools: Tools) -> None:
        """The bridge is up, or it is certain that it will not be."""
        self.tools = tools
        if self.phase is Phase.STARTING:
            self.phase = Phase.IDLE
            self._start_queued()

    def tools_gone(self) -> None:
        """The bridge ended: an open call gets no answer any more."""
        self.tools_known(())
        if self.phase is Phase.CALLING and self._call is not None:
            self.answered(self._call, "The bridge ended during this call; its outcome is unknown.")

    def submit(self, text: str) -> None:
        """Starts a turn with this prompt, or holds it for the running one."""
        if self.phase is Phase.IDLE:
            self._start(text)
            return
        self.queued.append(text)
        if self.is_working:
            self._tell("prompt_accepted", text=text, queued=True)

    def interrupt(self) -> None:
        """Ends the running turn at once. Prompts that it held start the next one."""
        if not self.is_working:
            return
        if self.phase is Phase.CALLING and self._call is not None:
            self.ports.cancel(self._call)
            self._record_result(CALL_INTERRUPTED)
        elif self.phase is Phase.ASKING:
            self._record_result(REFUSED)
        self.transcript.append("interrupted")
        self._end("interrupted")

    def replied(self, request: int, reply: Reply) -> None:
        """The model answered; an answer to a turn that is over is dropped."""
        if self.phase is not Phase.THINKING or request != self._request:
            return
        if reply.tokens is not None:
            self._spent = reply.tokens + (self._spent or Tokens())
        if isinstance(reply, Answer):
            self._answer(reply.text)
            return
        self.asked = reply
        self.transcript.append("tool_call", call_id=reply.call_id, tool=reply.tool, arguments=dict(reply.arguments))
        if self.may_call(reply.tool):
            self._begin_call(reply)
        else:
            self.phase = Phase.ASKING

    def failed(self, request: int, problem: str) -> None:
        if self.phase is Phase.THINKING and request == self._request:
            self._end("failed", error=problem)

    def permitted(self, *, allowed: bool) -> None:
        """The user's decision about the call that was asked for."""
        if self.phase is not Phase.ASKING or self.asked is None:
            return
        if allowed:
            self._begin_call(self.asked)
        else:
            self._record_result(REFUSED)
            self._go_on()

    def answered(self, call: int, text: str) -> None:
        """A call has its result; the queued prompts go to the model with it."""
        if self.phase is Phase.CALLING and call == self._call:
            self._record_result(text)
            self._go_on()

    def timed_out(self, call: int, text: str) -> None:
        """A call was silent for too long: it is cancelled and the model is told."""
        if self.phase is Phase.CALLING and call == self._call:
            self.ports.cancel(call)
            self.answered(call, text)

    def _start(self, text: str) -> None:
        self._turn += 1
        self._said, self._spent = [], None
        self.transcript.append("user", text=text, turn=self._turn, live=False)
        self._tell("prompt_accepted", text=text, queued=False)
        self._think()

    def _start_queued(self) -> None:
        if self.queued:
            self._start(self.queued.pop(0))

    def _answer(self, text: str) -> None:
        """The turn is over unless somebody said something meanwhile."""
        self._said.append(text)
        self.transcript.append("assistant", text=text, turn=self._turn)
        if self.queued:
            self._go_on()
        else:
            self._end("completed")

    def _go_on(self) -> None:
        for text in self.queued:
            self.transcript.append("user", text=text, turn=self._turn, live=True)
        self.queued.clear()
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

    def _end(self, outcome: str, *, error: str | None = None) -> None:
        fields: dict[str, object] = {"outcome": outcome, "final_text": "\n".join(self._said), "error": error}
        if self._spent is not None:
            fields["usage"] = {"input_tokens": self._spent.read, "output_tokens": self._spent.written}
        self.phase = Phase.IDLE
        self.transcript.append("turn_end", turn=self._turn, **fields)
        self._tell("turn_end", **fields)
        self._start_queued()

    def _tell(self, event: str, **fields: object) -> None:
        self.ports.emit({"event": event, "turn": self._turn, **fields})
