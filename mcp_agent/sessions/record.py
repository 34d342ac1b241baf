"""What is kept of a session on disk, so that it survives every process of ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from mcp_agent.adapter import ModelEndpoint
from mcp_agent.processes import ProcessIdentity
from mcp_agent.state import StateDirectory, write_private
from mcp_agent.tmux.terminal import PaneRef


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a person, or a program, asks for when a session is started."""

    provider: str
    working_directory: Path
    environment: Mapping[str, str] = field(repr=False)
    """The caller's variables; only allow-listed ones go on."""
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


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One session. `pane` is None before the launch and after the end, `provider_version` when none was told."""

    id: str
    provider: str
    working_directory: Path
    home: Path
    created_at: float
    """Wall-clock epoch."""
    native_session_id: str | None = None
    provider_version: str | None = None
    shell_environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What shell commands of this session see."""
    trust: bool = False
    tools: frozenset[str] | None = None
    """The tools that its token is good for; None: all of them."""
    pane: PaneRef | None = None
    came_up: bool = False
    """It showed its prompt once."""
    transcript: Path | None = None
    tied_to: ProcessIdentity | None = None
    stopped: bool = False


_RECORD = TypeAdapter(SessionRecord)


def save_record(state: StateDirectory, record: SessionRecord) -> None:
    write_private(state.session(record.id) / "session.json", _RECORD.dump_json(record, indent=1).decode())


def load_records(state: StateDirectory) -> list[SessionRecord]:
    """Every readable record, oldest first. A directory without one is a start that never came to a launch."""
    records = []
    for path in state.sessions.glob("*/session.json"):
        try:
            records.append(_RECORD.validate_json(path.read_bytes()))
        except (ValidationError, OSError):
            continue
    return sorted(records, key=lambda record: record.created_at)
