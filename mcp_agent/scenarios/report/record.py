"""What a run was: providers, their probes, and what happened in each. Every format is made from this and nothing else.

Times are seconds since the run of their provider began.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from mcp_agent.scenarios.results import ModelServer, Result

EMULATOR = "emulator"
"""What the version of a program says that only plays a provider's CLI."""


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    at_seconds: float
    kind: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """A time limit of one layer. `seconds` is None where nothing limits it."""

    layer: str
    seconds: float | None
    note: str = ""
    """Where it comes from."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. `ended_seconds` is None while nobody has stopped waiting for it."""

    call_id: str
    tool: str
    arguments: str
    began_seconds: float
    ended_seconds: float | None = None
    ended_by: str | None = None
    happened: str | None = None
    detail: str | None = None
    limits: tuple[Limit, ...] = ()
    """The limits that were seen to run while it was waited for."""

    @property
    def waited_seconds(self) -> float | None:
        return None if self.ended_seconds is None else self.ended_seconds - self.began_seconds


@dataclass(frozen=True, slots=True)
class Frame:
    """What the pane showed: lines as the terminal styles them (SGR only), joined over wraps."""

    at_seconds: float
    columns: int
    rows: int
    lines: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Shot:
    """A frame worth looking at, and why."""

    caption: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe: what it proves, what it found, and what there was to see."""

    name: str
    result: Result
    reason: str | None
    began_seconds: float
    elapsed_seconds: float
    proves: str = ""
    expected: str | None = None
    seen: str | None = None
    layer: str | None = None
    """The time layer that ended something; None when none did."""
    evidence: Mapping[str, object] | None = None
    events: tuple[Event, ...] = ()
    calls: tuple[Call, ...] = ()
    shots: tuple[Shot, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderRun:
    """All probes of one provider. `reason` is set when it could not be run at all."""

    provider: str
    provider_version: str | None
    model_server: ModelServer
    result: Result
    exit_code: int
    probes: tuple[Probe, ...]
    reason: str | None = None
    elapsed_seconds: float = 0.0
    frames: tuple[Frame, ...] = ()
    limits: tuple[Limit, ...] = ()
    """What was in force for this provider."""

    @property
    def is_emulator(self) -> bool:
        """The CLI only plays the provider's own."""
        return EMULATOR in (self.provider_version or "").lower()

    @property
    def title(self) -> str:
        """The provider and its version; an emulator's version says what it is."""
        return f"{self.provider} {self.provider_version or ''}".strip()


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run of a scenario, over one provider or several."""

    scenario: str
    command: str
    began_at: datetime
    providers: tuple[ProviderRun, ...]

    @property
    def elapsed_seconds(self) -> float:
        return sum(provider.elapsed_seconds for provider in self.providers)
