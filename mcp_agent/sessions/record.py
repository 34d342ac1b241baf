"""What is kept of a session on disk, so that it survives every process of ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from mcp_agent.adapter import LimitedBy, ModelEndpoint
from mcp_agent.processes import ProcessIdentity
from mcp_agent.sessions.retention.closing import Closing, Keeping
from mcp_agent.state import StateDirectory, write_private
from mcp_agent.tmux.terminal import PaneRef


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a person, or a program, asks for when a session is started."""

    provider: str
    working_directory: Path
    environment: Mapping[str, str] = field(repr=False)
    """The caller's variables; only allow-listed and named ones go on."""
    named_variables: frozenset[str] = frozenset()
    """Variables that somebody asked to be passed on, besides the allow-listed ones."""
    name: str | None = None
    """What people call the session; see `names`."""
    size: tuple[int, int] | None = None
    """Columns and rows of its pane; None: those of the configuration."""
    home: Path | None = None
    """A home made for this session alone; None runs the CLI in the caller's HOME."""
    allow_tools: frozenset[str] = frozenset()
    tools: frozenset[str] | None = None
    """The bridge tools that the session has at all; None: all of them."""
    provider_shell: bool = True
    trust: bool = False
    permission_mode: str | None = None
    model: str | None = None
    endpoint: ModelEndpoint | None = field(default=None, repr=False)
    tied_to: ProcessIdentity | None = None
    """A process whose end stops the session; None lets it live on."""
    resume: str | None = None
    """The provider's own id of a conversation to go on with; None begins a new one."""
    idle_retention: timedelta | None = None
    """How long it is kept while it is idle; zero: for ever, None: as its provider's sessions are."""
    execution: str | None = None
    """The execution that it is the child of."""
    parent_session: str | None = None
    """The session that started that execution."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One session. `pane` is None before the launch and after the end, `provider_version` when none was told."""

    id: str
    provider: str
    working_directory: Path
    home: Path
    created_at: float
    """Wall-clock epoch."""
    name: str | None = None
    native_session_id: str | None = None
    provider_version: str | None = None
    shell_environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What shell commands of this session see."""
    trust: bool = False
    tools: frozenset[str] | None = None
    """The tools that its token is good for; None: all of them."""
    options: SessionOptions | None = None
    """What it was started with; its variables and keys stand in `secrets.json`, and only until it is stopped."""
    needs_secrets: bool = False
    """It was launched with variables or a key that are not kept any more once it was stopped."""
    launched_at: float = 0.0
    """Wall-clock epoch of its latest launch."""
    pane: PaneRef | None = None
    bridge_up: bool = False
    """The bridge of its latest launch has asked for the tools."""
    came_up: bool = False
    """It showed its prompt once since its latest launch."""
    limited: LimitedBy | None = None
    """What its provider refuses work for, as far as it told."""
    transcript: Path | None = None
    tied_to: ProcessIdentity | None = None
    stopped: bool = False
    keeping: Keeping | None = None
    """How long it is kept while it is idle: as was chosen when it was first launched."""
    closed: Closing | None = None
    """Why retention closed it; None when somebody else stopped it."""
    execution: str | None = None
    """The execution that it is the child of; None for one that nobody's execution started."""
    parent_session: str | None = None

    @property
    def why_stopped(self) -> str | None:
        return self.closed.short if self.closed else None


_RECORD = TypeAdapter(SessionRecord)


def save_record(state: StateDirectory, record: SessionRecord, *, synced: bool = True) -> None:
    """Write the record. Without `synced` it survives us, but maybe no power cut."""
    path = state.session(record.id) / "session.json"
    write_private(path, _RECORD.dump_json(record, indent=1).decode(), synced=synced)


def load_record(state: StateDirectory, session_id: str) -> SessionRecord | None:
    """The record of this session; None when there is none that can be read."""
    try:
        return _RECORD.validate_json((state.session(session_id) / "session.json").read_bytes())
    except (ValidationError, ValueError, OSError):
        return None


def load_records(state: StateDirectory) -> list[SessionRecord]:
    """Every readable record, oldest first. A directory without one is a start that never came to a launch."""
    records = []
    for path in state.sessions.glob("*/session.json"):
        try:
            records.append(_RECORD.validate_json(path.read_bytes()))
        except (ValidationError, OSError):
            continue
    return sorted(records, key=lambda record: record.created_at)


def unreadable_sessions(state: StateDirectory) -> list[str]:
    """The ids of the sessions whose records are there and cannot be read."""
    found = sorted(path.parent.name for path in state.sessions.glob("*/session.json"))
    return [session_id for session_id in found if load_record(state, session_id) is None]
