"""What the user's configuration file says: `config.toml` in the user's own configuration directory, and nowhere else.

A missing file means the defaults. A file that cannot be used is refused as a whole, with its line.
"""

import tomllib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import platformdirs
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from mcp_agent.config_problems import sentence, toml_sentence
from mcp_agent.durations import parse_duration
from mcp_agent.errors import BadConfiguration
from mcp_agent.timeouts import FileTimeouts

DATABASE_VARIABLE = "MCP_AGENT_DATABASE_URL"
"""Wins over `[executions] database_url`."""


def _duration(value: object) -> timedelta:
    if not isinstance(value, str):
        raise ValueError(f'{value!r} is no duration; write it in quotes with its unit, such as "90m"')  # noqa: TRY004
    return parse_duration(value)


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("the limit must be positive")
    return value


def _not_negative(value: timedelta) -> timedelta:
    if value < timedelta(0):
        raise ValueError("the limit must not be negative; 0 switches it off")
    return value


def _absolute(value: Path) -> Path:
    try:
        path = value.expanduser()
    except RuntimeError as error:
        raise ValueError(f"{value} names nobody's home directory") from error
    if not path.is_absolute():
        raise ValueError(f"{value} is not an absolute path")
    return path


Limit = Annotated[timedelta, BeforeValidator(_duration), AfterValidator(_positive)]
LimitOrOff = Annotated[timedelta, BeforeValidator(_duration), AfterValidator(_not_negative)]
AbsolutePath = Annotated[Path, AfterValidator(_absolute)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Timeouts(_Section):
    """`[timeouts]`: limits for all providers."""

    mcp_tool: Limit | None = None
    tool_execution: LimitOrOff | None = None
    tool_wait: Limit | None = None
    bridge_http: Limit | None = None
    idle_retention: Limit | None = None
    prompt_ready: Limit | None = None


class Provider(_Section):
    """`[providers.<id>]`: what differs for one provider."""

    idle_retention: Limit | None = None
    prompt_ready: Limit | None = None


class Sessions(_Section):
    """`[sessions]`: how sessions are started."""

    columns: Annotated[int, Field(strict=True, ge=40, le=1000)] = 120
    rows: Annotated[int, Field(strict=True, ge=10, le=1000)] = 36
    allow_tools: tuple[str, ...] = ()
    """Tools that need no permission prompt."""
    trusted_directories: tuple[AbsolutePath, ...] = ()
    """Working directories in which the CLI's trust dialog may be answered."""


class Tools(_Section):
    """`[tools]`: which tools sessions have."""

    allow: tuple[str, ...] | None = None
    """None: all of them."""
    modules: tuple[str, ...] = ()
    """Python modules that hold the user's own tools."""
    paths: tuple[AbsolutePath, ...] = ()
    """Directories in which these modules are looked for, after all that is installed."""


class Executions(_Section):
    """`[executions]`: what runs on its own, for sessions and for people."""

    database_url: str | None = Field(default=None, repr=False)
    """A PostgreSQL database, `postgresql://…`; None: a file in the state directory."""
    concurrency: Annotated[int, Field(strict=True, ge=1, le=1000)] = 4
    """How many executions of one depth run at once; the others wait."""
    depth: Annotated[int, Field(strict=True, ge=1, le=20)] = 3
    """How long a chain of executions that start executions may be."""
    most_unfinished: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 1000
    keep_sessions: Limit = timedelta(minutes=10)
    """How long the idle session of an execution is kept."""


class Agent(_Section):
    """`[agents.<name>]`: an agent that sessions and people call by its name."""

    provider: str
    model: str | None = None
    instructions: str = ""
    """Stand before the instructions of each call."""
    tools: tuple[str, ...] | None = None
    """The bridge tools that it has, without asking for permission; None: all, and it asks as sessions do."""
    working_directory: AbsolutePath | None = None
    """None: that of its caller."""
    worktree: bool = False
    """It works in a git worktree of its own, made from its working directory."""
    permission_mode: str | None = None
    deadline: Limit | None = None
    """What each of its executions may take, unless its caller says otherwise."""


class Config(_Section):
    """The whole file."""

    timeouts: Timeouts = Timeouts()
    providers: Mapping[str, Provider] = Field(default_factory=dict)
    sessions: Sessions = Sessions()
    tools: Tools = Tools()
    executions: Executions = Executions()
    agents: Mapping[str, Agent] = Field(default_factory=dict)

    def file_timeouts(self) -> FileTimeouts:
        """The limits that the file says, as `Policy.resolve` takes them."""
        return FileTimeouts(
            shared=dict(_said(self.timeouts)),
            providers={name: dict(_said(provider)) for name, provider in self.providers.items()},
        )


def config_path() -> Path:
    """Where the file is looked for. A relative `XDG_CONFIG_HOME` is ignored, as its standard demands."""
    path = platformdirs.user_config_path("mcp-agent")
    return (path if path.is_absolute() else Path.home() / ".config" / "mcp-agent") / "config.toml"


def load_config(path: Path | None = None) -> Config:
    """The configuration in this file, by default the user's; the defaults when there is no file.

    Raises `BadConfiguration` when there is one that cannot be used.
    """
    path = path or config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(path, f"cannot be read: {error}") from error
    try:
        return Config.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadConfiguration(path, toml_sentence(error, text)) from error
    except ValidationError as error:
        raise BadConfiguration(path, sentence(error, text, model=Config)) from error


def _said(section: BaseModel) -> Iterator[tuple[str, timedelta]]:
    return ((key, value) for key, value in section if isinstance(value, timedelta))
