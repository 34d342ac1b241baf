"""The running program: one inbox, one thread that takes from it, and the ports that act."""

import queue
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from adapters.scripted_agent import trust
from adapters.scripted_agent.bridge import Bridge, BridgeGone, BridgeReady, CallAnswered
from adapters.scripted_agent.config import Config
from adapters.scripted_agent.events import Emitter
from adapters.scripted_agent.interface import Interface, TrustQuestion
from adapters.scripted_agent.keys import Key, KeyPress, Pasted, Typed
from adapters.scripted_agent.model import ModelFailed, Reply, Tools, model_of
from adapters.scripted_agent.quirks import Quirks, Record, every_tick, wait_for
from adapters.scripted_agent.runner import Runner
from adapters.scripted_agent.screen import render
from adapters.scripted_agent.terminal import Terminal, read_keys
from adapters.scripted_agent.transcript import Entry, Transcript

BRIDGE_START_LIMIT = timedelta(seconds=10)
"""Without its tools by then, the bridge counts as absent."""
LAST_EVENTS_LIMIT = timedelta(seconds=3)
SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGWINCH)


@dataclass(frozen=True, slots=True)
class Signalled:
    number: int


@dataclass(frozen=True, slots=True)
class KeysEnded:
    pass


@dataclass(frozen=True, slots=True)
class ModelReplied:
    request: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class ModelRefused:
    request: int
    problem: str


@dataclass(frozen=True, slots=True)
class CallWasSilent:
    call: int


@dataclass(frozen=True, slots=True)
class BridgeIsSlow:
    pass


@dataclass(frozen=True, slots=True)
class Ticked:
    pass


@dataclass(frozen=True, slots=True)
class Untold:
    event: Mapping[str, object]


Message = (
    KeyPress
    | Signalled
    | KeysEnded
    | ModelReplied
    | ModelRefused
    | CallWasSilent
    | BridgeIsSlow
    | Ticked
    | Untold
    | BridgeReady
    | BridgeGone
    | CallAnswered
)
Inbox = queue.SimpleQueue[Message]


class Workshop:
    """The runner's ports: threads that think, the bridge, the event command."""

    def __init__(self, config: Config, inbox: Inbox, quirks: Quirks) -> None:
        self._config, self._inbox, self._quirks = config, inbox, quirks
        self._model = model_of(config)
        self._emitter = Emitter(config.event_command if quirks.tells else (), lambda event: inbox.put(Untold(event)))
        self._bridge = Bridge(config.bridge_command, inbox.put)
        _later(BRIDGE_START_LIMIT, lambda: inbox.put(BridgeIsSlow()))

    def think(self, request: int, entries: Sequence[Entry], tools: Tools) -> None:
        """A prompt is told before the model sees it, so that no call of a turn comes before the turn."""
        told = self._emitter.delivered()
        threading.Thread(target=self._think, args=(request, entries, tools, told), name="model", daemon=True).start()

    def call(self, tool: str, arguments: Mapping[str, object]) -> int:
        call = self._bridge.call(tool, arguments)
        if self._config.mcp_tool_timeout is not None:
            _later(self._config.mcp_tool_timeout, lambda: self._inbox.put(CallWasSilent(call)))
        return call

    def cancel(self, call: int) -> None:
        self._bridge.cancel(call, "the call is no longer wanted")

    def emit(self, event: Mapping[str, object]) -> None:
        if event.get("event") not in self._quirks.loses:
            self._emitter.emit({"session_id": self._config.native_session_id, **event})

    def close(self) -> None:
        self._bridge.close()
        self._emitter.close(LAST_EVENTS_LIMIT)

    def _think(self, request: int, entries: Sequence[Entry], tools: Tools, told: threading.Event) -> None:
        told.wait()
        wait_for(self._quirks.thinks_until)
        try:
            self._inbox.put(ModelReplied(request, self._model.reply(entries, tools)))
        except ModelFailed as problem:
            self._inbox.put(ModelRefused(request, str(problem)))


def run(config: Config, quirks: Quirks) -> int:
    """Runs until the user leaves or a signal ends it; the exit status."""
    inbox: Inbox = queue.SimpleQueue()
    record = Record(quirks.record)
    for number in SIGNALS:
        signal.signal(number, lambda number, _: inbox.put(Signalled(number)))
    if quirks.moves:
        every_tick(lambda: inbox.put(Ticked()))
    terminal = Terminal(quirks)
    with terminal.raw():
        read_keys(lambda press: inbox.put(KeysEnded() if press is None else press), quirks, record)
        try:
            refused = _ask_for_trust(config, terminal, inbox, yes_first=quirks.yes_first)
            return refused or _converse(config, terminal, inbox, quirks=quirks, record=record)
        except OSError:
            return 1


def _ask_for_trust(config: Config, terminal: Terminal, inbox: Inbox, *, yes_first: bool) -> int:
    """0 when the directory may be used."""
    record = config.directory / "trusted.json"
    if config.trusted or trust.is_trusted(record, config.working_directory):
        return 0
    question = TrustQuestion(str(config.working_directory), yes_first=yes_first)
    while question.answer is None:
        if inbox.empty():
            _draw(question, terminal)
        message = inbox.get()
        if (status := _ending(message)) is not None:
            return status or 1
        if isinstance(message, Key | Typed | Pasted):
            question.press(message)
    if question.answer:
        trust.remember(record, config.working_directory)
    return 0 if question.answer else 1


def _converse(config: Config, terminal: Terminal, inbox: Inbox, *, quirks: Quirks, record: Record) -> int:
    transcript = Transcript.open(config.transcript, resume=config.resume)
    workshop = Workshop(config, inbox, quirks)
    try:
        workshop.emit({"event": "session_start", "transcript": str(config.transcript)})
        runner = Runner(workshop, transcript, lambda tool: config.allow_all_tools or tool in config.allow_tools)
        interface = Interface(runner, quirks, record)
        while not interface.is_over:
            if inbox.empty():
                _draw(interface, terminal)
            message = inbox.get()
            if (status := _ending(message)) is not None:
                return status
            _take(message, runner, interface, config)
        return quirks.exit_status or 0
    finally:
        workshop.close()
        _keep_untold(inbox, transcript)


def _keep_untold(inbox: Inbox, transcript: Transcript) -> None:
    """The last events may have failed to be delivered after the last message was taken."""
    while not inbox.empty():
        message = inbox.get()
        if isinstance(message, Untold):
            transcript.append("untold_event", event=dict(message.event))


def _ending(message: Message) -> int | None:
    """The exit status when this message ends the program."""
    if isinstance(message, Signalled) and message.number != signal.SIGWINCH:
        return 128 + message.number
    return 0 if isinstance(message, KeysEnded) else None


def _take(message: Message, runner: Runner, interface: Interface, config: Config) -> None:
    match message:
        case Key() | Typed() | Pasted():
            interface.press(message)
        case ModelReplied(request, reply):
            runner.replied(request, reply)
        case ModelRefused(request, problem):
            runner.failed(request, problem)
        case BridgeReady(tools):
            runner.tools_known(tools)
        case BridgeGone():
            runner.tools_gone()
        case BridgeIsSlow():
            runner.tools_known(runner.tools)
        case CallAnswered(call, text):
            runner.answered(call, text)
        case CallWasSilent(call):
            runner.timed_out(call, f"MCP call timed out after {config.mcp_tool_timeout}; its outcome is unknown.")
        case Untold(event):
            runner.transcript.append("untold_event", event=dict(event))
        case Signalled() | KeysEnded() | Ticked():
            pass


def _draw(side: Interface | TrustQuestion, terminal: Terminal) -> None:
    columns, rows = size = terminal.size()
    terminal.draw(render(side.view(), columns=columns, rows=rows), size)


def _later(limit: timedelta, act: Callable[[], None]) -> None:
    timer = threading.Timer(limit.total_seconds(), act)
    timer.daemon = True
    timer.start()
