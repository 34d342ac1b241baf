"""The running program: one inbox, one thread that takes from it, and the ports that act."""

import os
import queue
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from adapters.scripted_agent.bridge import BridgeGone, BridgeReady, CallAnswered
from adapters.scripted_agent.keys import Key, KeyPress, Pasted, Typed
from adapters.scripted_agent.model import BuiltInModel, EndpointModel, ModelFailed, Tools
from adapters.scripted_agent.program import SIGNALS, KeysEnded, ModelRefused, ModelReplied, Signalled
from adapters.scripted_agent.quirks import Quirks, Record
from adapters.scripted_agent.screen import Frame
from adapters.scripted_agent.terminal import Terminal, read_keys
from adapters.scripted_agent.transcript import Entry, Transcript
from e2e.cursor_emulator import screen
from e2e.cursor_emulator.agent import SERVER, Agent
from e2e.cursor_emulator.dialogs import dialogs
from e2e.cursor_emulator.hooks import Hooks
from e2e.cursor_emulator.interface import Interface
from e2e.cursor_emulator.mcp import Server
from e2e.cursor_emulator.permissions import Permissions
from e2e.cursor_emulator.places import Places
from e2e.cursor_emulator.servers import Servers
from e2e.cursor_emulator.settings import Settings

LAST_HOOKS_LIMIT = timedelta(seconds=3)
MODEL = "scripted-1"


@dataclass(frozen=True, slots=True)
class Started:
    """What the command line says."""

    places: Places
    settings: Settings
    chat: str
    force: bool
    version: str


@dataclass(frozen=True, slots=True)
class CallDropped:
    call: int


Message = (
    KeyPress
    | Signalled
    | KeysEnded
    | ModelReplied
    | ModelRefused
    | CallDropped
    | BridgeReady
    | BridgeGone
    | CallAnswered
)
Inbox = queue.SimpleQueue[Message]


class Workshop:
    """The agent's ports: threads that think, the server, the hooks."""

    def __init__(self, started: Started, inbox: Inbox) -> None:
        self._started, self._inbox = started, inbox
        endpoint = started.settings.endpoint
        self._model = EndpointModel(endpoint, MODEL) if endpoint else BuiltInModel()
        self._hooks = Hooks(started.places)
        command = Servers(started.places).command(SERVER, os.environ)
        self._server = command and Server(
            command, inbox.put, lambda call: inbox.put(CallDropped(call)), ceiling=started.settings.ceiling
        )

    def think(self, request: int, entries: Sequence[Entry], tools: Tools) -> None:
        """What was told by hooks is told before the model is asked."""
        told = self._hooks.told()
        threading.Thread(target=self._think, args=(request, entries, tools, told), name="model", daemon=True).start()

    def call(self, tool: str, arguments: Mapping[str, object]) -> int:
        if not self._server:
            self._inbox.put(CallAnswered(0, "MCP error: no such server"))
            return 0
        return self._server.call(tool, arguments)

    def cancel(self, call: int) -> None:
        if self._server:
            self._server.cancel(call, "the user cancelled it")

    def tell(self, event: Mapping[str, object]) -> None:
        started = self._started
        common = {
            "conversation_id": started.chat,
            "cursor_version": started.version,
            "model": MODEL,
            "workspace_roots": [str(started.places.workspace)],
            "transcript_path": str(started.places.transcript(started.chat)),
        }
        self._hooks.tell({**common, **event})

    def close(self) -> None:
        if self._server:
            self._server.close()
        self._hooks.close(LAST_HOOKS_LIMIT)

    def _think(self, request: int, entries: Sequence[Entry], tools: Tools, told: threading.Event) -> None:
        told.wait()
        try:
            self._inbox.put(ModelReplied(request, self._model.reply(entries, tools)))
        except ModelFailed as problem:
            self._inbox.put(ModelRefused(request, str(problem)))


def run(started: Started) -> int:
    """Runs until the user leaves or a signal ends it; the exit status."""
    inbox: Inbox = queue.SimpleQueue()
    for number in SIGNALS:
        signal.signal(number, lambda number, _: inbox.put(Signalled(number)))
    terminal = Terminal(Quirks())
    with terminal.raw():
        sys.stdout.write("\x1b]2;Cursor Agent\x1b\\\x1b[?1049h")
        sys.stdout.flush()
        try:
            read_keys(lambda press: inbox.put(KeysEnded() if press is None else press), Quirks(), Record(None))
            status = _before_the_first_prompt(started, terminal, inbox)
            status = _converse(started, terminal, inbox) if status is None else status
        except OSError:
            return 1
        finally:
            sys.stdout.write("\x1b[?1049l")
    sys.stdout.write(f"To resume this session: agent --resume={started.chat}\n")
    return status


def _before_the_first_prompt(started: Started, terminal: Terminal, inbox: Inbox) -> int | None:
    """The exit status when it ends here. A login is not played: only the screen before it."""
    columns, rows = terminal.size()
    while not started.settings.is_logged_in(started.places):
        _draw(terminal, screen.login(version=started.version, rows=rows))
        if (status := _ending(inbox.get())) is not None:
            return status
    for dialog in dialogs(started.places):
        while dialog.answer is None:
            columns, rows = terminal.size()
            _draw(terminal, screen.menu(dialog.menu, version=started.version, columns=columns, rows=rows))
            message = inbox.get()
            if (status := _ending(message)) is not None:
                return status
            if isinstance(message, Key | Typed | Pasted):
                dialog.press(message)
        if dialog.answer == "q":
            return 1
    return None


def _converse(started: Started, terminal: Terminal, inbox: Inbox) -> int:
    places = started.places
    transcript = Transcript.open(places.chat(started.chat), resume=True)
    workshop = Workshop(started, inbox)
    try:
        permissions = Permissions.load(places, force=started.force)
        agent = Agent(workshop, transcript, permissions, places.transcript(started.chat))
        interface = Interface(agent, version=started.version, place=str(places.workspace))
        workshop.tell({"hook_event_name": "sessionStart"})
        while not interface.is_over:
            if inbox.empty():
                columns, rows = terminal.size()
                _draw(terminal, screen.conversation(interface.view(), columns=columns, rows=rows))
            message = inbox.get()
            if (status := _ending(message)) is not None:
                return status
            _take(message, agent, interface)
        workshop.tell({"hook_event_name": "sessionEnd"})
        return 0
    finally:
        workshop.close()


def _ending(message: Message) -> int | None:
    """The exit status when this message ends the program."""
    if isinstance(message, Signalled) and message.number != signal.SIGWINCH:
        return 128 + message.number
    return 0 if isinstance(message, KeysEnded) else None


def _take(message: Message, agent: Agent, interface: Interface) -> None:
    match message:
        case Key() | Typed() | Pasted():
            interface.press(message)
        case ModelReplied(request, reply):
            agent.replied(request, reply)
        case ModelRefused(request, problem):
            agent.failed(request, problem)
        case BridgeReady(tools):
            agent.tools = tools
        case BridgeGone():
            agent.tools = ()
        case CallAnswered(call, text):
            agent.answered(call, text)
        case CallDropped(call):
            agent.dropped(call)
        case Signalled() | KeysEnded():
            pass


def _draw(terminal: Terminal, frame: Frame) -> None:
    terminal.draw(frame, terminal.size())
