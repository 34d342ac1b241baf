"""What one run of the program is told, in a file of its owner's."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path


class ConfigError(Exception):
    """The file cannot be used; shown to a person as one line."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    base_url: str
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Config:
    native_session_id: str
    home: Path
    working_directory: Path
    bridge_command: tuple[str, ...]
    event_command: tuple[str, ...]
    """Empty: events go to the transcript only."""
    endpoint: Endpoint | None
    """None: the built-in rules answer."""
    model: str
    resume: bool
    trusted: bool
    allow_all_tools: bool
    allow_tools: frozenset[str]
    mcp_tool_timeout: timedelta | None
    """None: a call may be silent for ever."""

    @property
    def directory(self) -> Path:
        """Where the program keeps what it remembers."""
        return self.home / ".scripted-agent"

    @property
    def transcript(self) -> Path:
        return self.directory / f"{self.native_session_id}.jsonl"


def load(path: Path) -> Config:
    """The configuration in this file. Raises `ConfigError`."""
    try:
        return _parse(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ConfigError(f"{path}: {type(problem).__name__}: {problem}") from problem


def _parse(raw: Mapping[str, object]) -> Config:
    endpoint, seconds = raw.get("endpoint"), raw.get("mcp_tool_timeout_seconds")
    return Config(
        native_session_id=str(raw["native_session_id"]),
        home=Path(str(raw["home"])),
        working_directory=Path(str(raw["working_directory"])),
        bridge_command=_words(raw, "bridge_command"),
        event_command=_words(raw, "event_command"),
        endpoint=Endpoint(**endpoint) if isinstance(endpoint, dict) else None,
        model=str(raw.get("model") or "scripted-1"),
        resume=bool(raw.get("resume", False)),
        trusted=bool(raw.get("trusted", False)),
        allow_all_tools=bool(raw.get("allow_all_tools", False)),
        allow_tools=frozenset(_words(raw, "allow_tools")),
        mcp_tool_timeout=timedelta(seconds=float(str(seconds))) if seconds is not None else None,
    )


def _words(raw: Mapping[str, object], key: str) -> tuple[str, ...]:
    words = raw.get(key, [])
    if not isinstance(words, list):
        raise TypeError(f"{key} must be a list")
    return tuple(map(str, words))
