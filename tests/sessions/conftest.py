"""A provider of plain strings, its program, and sessions of it in virtual time."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

import anyio
import anyio.lowlevel
import pytest
import trio.testing

from mcp_agent.adapter import (
    Blocked,
    Busy,
    Capability,
    Composer,
    Dialog,
    DialogAnswer,
    Launch,
    LaunchFile,
    LaunchRequest,
    LimitedBy,
    LiveInput,
    NpmPackage,
    PromptAccepted,
    Ready,
    Screen,
    SessionIdentified,
    Signal,
    TurnEnded,
    TurnOutcome,
    Waiting,
)
from mcp_agent.sessions.events import EventSpool, TranscriptTail
from mcp_agent.sessions.live import LiveSession
from mcp_agent.sessions.record import SessionRecord
from mcp_agent.timeouts import ClientCeiling, ProviderLimits
from mcp_agent.tmux.memory import Input, MemoryPane, MemoryTerminal, Pasted, Pressed, Typed

ANSWERS = {"trust": DialogAnswer("Yes, trust", needs="trust"), "news": DialogAnswer("Continue", needs="nothing")}


class Plain:
    """An adapter whose screens are these: `[busy]`, `[permission?]`, `[dialog NAME]`, and a composer after `> `."""

    id = "plain"
    title = "Plain"
    executable = "true"
    install_hint = "nothing"
    package: NpmPackage | None = None
    lacks: Mapping[Capability, str] = MappingProxyType({})
    user_files: Mapping[str, str] = MappingProxyType({})
    tested_versions: Sequence[str] = ()
    unverified: str | None = None
    limits = ProviderLimits()
    client_ceiling: ClientCeiling | None = None
    live_input = LiveInput.SAME_TURN
    permission_modes: Sequence[str] = ()
    environment_names: Sequence[str] = ("PLAIN_API_KEY", "PLAIN_TOKEN", "PLAIN_REGION")
    credential_names: Sequence[str] = ("PLAIN_API_KEY", "PLAIN_TOKEN")
    submit_keys = ("Enter",)
    interrupt_keys = ("Escape",)
    clear_keys = ("C-u",)
    next_option_keys = ("Down",)
    confirm_keys = ("Enter",)
    fault: Exception | None = None
    """What describing a launch raises."""

    def parse_version(self, output: str) -> str | None:
        return output.split()[-1] if output.split() else None

    def mcp_timeout(self, limit: timedelta) -> None:
        return None

    def launch(self, request: LaunchRequest) -> Launch:
        if self.fault:
            raise self.fault
        config = LaunchFile(request.session_directory / "plain" / "config.json", "{}")
        key = {"PLAIN_API_KEY": request.endpoint.api_key} if request.endpoint else {}
        return Launch(("plain",), key, (config,), request.native_session_id)

    def read(self, screen: Screen) -> Sequence[Signal]:
        """Weakest first: choosing is not the adapter's business here."""
        if "[broken]" in screen.lines:
            raise LookupError("this adapter has a fault")
        said: list[Signal] = [Ready()] if self.composer(screen) else []
        said += [Busy()] if "[busy]" in screen.lines else []
        said += [Waiting("permission")] if "[permission?]" in screen.lines else []
        said += [LimitedBy("rate")] if "[limited]" in screen.lines else []
        return said + self._dialogs(screen.lines)

    def composer(self, screen: Screen) -> Composer | None:
        rows = list(screen.lines)
        top = next((row for row, line in enumerate(rows) if line.startswith(">")), None)
        if top is None or "---" not in rows[top:]:
            return None
        draft = "\n".join(line[2:] for line in rows[top : rows.index("---", top)])
        return Composer(draft, is_chip=draft.startswith("[chip"))

    def read_event(self, event: Mapping[str, object]) -> Sequence[Signal]:
        match event:
            case {"accepted": str(text)}:
                return [PromptAccepted(text, queued=event.get("queued") is True)]
            case {"ended": str(outcome)}:
                return [TurnEnded(TurnOutcome(outcome), str(event.get("text", "")))]
            case {"identified": str(native)}:
                transcript = event.get("transcript")
                return [SessionIdentified(native, Path(transcript) if isinstance(transcript, str) else None)]
            case {"fault": _}:
                raise LookupError("this adapter has a fault")
            case _:
                return []

    def read_transcript(self, lines: Sequence[str]) -> Sequence[Signal]:
        return [signal for line in lines for signal in self.read_event(json.loads(line))]

    def transcript_glob(self, native_session_id: str) -> None:
        return None

    def is_command(self, text: str) -> bool:
        return text.startswith("/")

    def guard(self, text: str) -> str:
        return f" {text}" if text.startswith("/") else text

    def _dialogs(self, lines: Sequence[str]) -> list[Signal]:
        name = next((line[8:-1] for line in lines if line.startswith("[dialog ")), None)
        if name is None:
            return []
        options = [line for line in lines if line.startswith(("* ", "- "))]
        selected = next((place for place, option in enumerate(options) if option.startswith("* ")), 0)
        labels = tuple(option[2:] for option in options)
        return [Blocked(Dialog(name, labels, selected, ANSWERS.get(name), f"answer {name} yourself"))]


@dataclass
class Cli:
    """The program in a pane. What it does with a paste and with Enter can be changed by its fields."""

    pane: MemoryPane
    events: Path
    draft: str = ""
    status: str = ""
    """A line above the composer, such as `[busy]`."""
    swallows: int = 0
    """So many presses of Enter do nothing."""
    draws_pastes: bool = True
    clears: bool = True
    """The composer is drawn empty as soon as a prompt was taken."""
    makes_chips: bool = False
    tells: bool = True
    """Prompts are told by an event."""
    told: Callable[[], None] = lambda: None
    """Called for each event, as the hook's program calls the server."""
    on_submit: Callable[[str], None] = lambda _: None
    submitted: list[str] = field(default_factory=list)
    _told: int = 0

    def __post_init__(self) -> None:
        self.pane.on_input = self.take
        self.draw()

    def draw(self, *body: str) -> None:
        shown = f"[chip of {len(self.draft)}]" if self.makes_chips and self.draft else self.draft
        first, *rest = shown.split("\n")
        self.pane.show(*body, *filter(None, [self.status]), f"> {first}", *(f"  {line}" for line in rest), "---")

    def take(self, received: Input) -> None:
        match received:
            case Pasted(text) | Typed(text):
                self.draft += text
                if self.draws_pastes:
                    self.draw()
            case Pressed("Enter") if self.swallows:
                self.swallows -= 1
            case Pressed("Enter") if self.draft:
                self.submit()

    def submit(self) -> None:
        text, self.draft = self.draft, ""
        self.submitted.append(text)
        if self.clears:
            self.draw()
        if self.tells:
            self.tell(accepted=text.strip(), queued=self.status == "[busy]")
        self.on_submit(text)

    def tell(self, **event: object) -> None:
        """One hook: the event is spooled, then the server is told."""
        self.spool(**event)
        self.told()

    def spool(self, **event: object) -> None:
        self._told += 1
        (self.events / f"{self._told:05d}.json").write_text(json.dumps(event))

    def keys(self) -> list[str]:
        return [received.key for received in self.pane.inputs if isinstance(received, Pressed)]

    def pastes(self) -> list[str]:
        return [received.text for received in self.pane.inputs if isinstance(received, Pasted)]


class DialogProgram:
    """A dialog that moves by Down and closes by Enter; then comes what is next."""

    def __init__(self, pane: MemoryPane, name: str, options: Sequence[str], *, selected: int = 0) -> None:
        self.pane, self.name, self.options, self.selected = pane, name, options, selected
        self.chosen: list[str] = []
        self.next_screen: tuple[str, ...] = ("> ", "---")
        self.redraws = True
        pane.on_input = self.take
        self.draw()

    def draw(self) -> None:
        rows = [f"{'*' if place == self.selected else '-'} {label}" for place, label in enumerate(self.options)]
        self.pane.show(f"[dialog {self.name}]", *rows)

    def take(self, received: Input) -> None:
        if received == Pressed("Down"):
            self.selected = (self.selected + 1) % len(self.options)
            self.draw()
        elif received == Pressed("Enter"):
            self.chosen.append(self.options[self.selected])
            if self.redraws:
                self.pane.show(*self.next_screen)


@dataclass
class Bench:
    """Where sessions of the plain provider run."""

    root: Path
    terminal: MemoryTerminal = field(default_factory=MemoryTerminal)
    adapter: Plain = field(default_factory=Plain)
    tail: TranscriptTail = field(default_factory=TranscriptTail)
    records: list[SessionRecord] = field(default_factory=list)

    @property
    def events(self) -> Path:
        return self.root / "events"

    async def launch(self, *, trust: bool = False) -> tuple[LiveSession, MemoryPane]:
        """A session whose program shows nothing yet, and which nobody observes."""
        self.events.mkdir(exist_ok=True)
        tags = {"session": "s-1"}
        ref = await self.terminal.spawn(name="s-1", argv=["plain"], cwd=self.root, environment={}, tags=tags)
        record = SessionRecord("s-1", "plain", self.root, self.root, 0.0, trust=trust, pane=ref)
        spool = EventSpool(self.events)
        session = LiveSession(record, self.adapter, self.terminal, spool, self.tail, "token", self.records.append)
        return session, self.terminal.pane(ref)

    @asynccontextmanager
    async def observed(self, *, trust: bool = False) -> AsyncGenerator[tuple[LiveSession, MemoryPane]]:
        """The same, observed."""
        session, pane = await self.launch(trust=trust)
        async with anyio.create_task_group() as group:
            group.start_soon(session.observe)
            yield session, pane
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def ready(self) -> AsyncGenerator[tuple[LiveSession, Cli]]:
        """A session that shows its prompt."""
        async with self.observed() as (session, pane):
            cli = Cli(pane, self.events)
            cli.told = session.take_events
            session.bridge_is_up()
            await session.look()
            yield session, cli

    def dialog(self, pane: MemoryPane, name: str, options: Sequence[str], *, selected: int = 0) -> DialogProgram:
        return DialogProgram(pane, name, options, selected=selected)

    def cli(self, pane: MemoryPane, events: Path | None = None) -> Cli:
        return Cli(pane, events or self.events)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    """Hours pass at once."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
