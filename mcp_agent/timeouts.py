"""Every layer that can run out of time: its owner, default, setting and recovery, and how the layers nest.

`LAYERS` declares them, `Policy` holds the values in force: `tool_wait` < `bridge_http` < `mcp_call`, each inner one at
least `MARGIN` below the outer one, so that the innermost layer that still answers is the one that reports.
`server_tool` bounds the work itself, and no wait shortens it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Literal

from mcp_agent.timeout_settings import Chooser, Chosen, Setting, Source

MARGIN = timedelta(seconds=5)
"""How much earlier an inner wait ends than the one around it."""

CEILING_MARGIN = timedelta(seconds=15)
"""How much earlier our wait ends than a bound of the CLI that progress is not known to extend."""

PROGRESS_INTERVAL = timedelta(seconds=15)
"""How often the bridge sends progress to a CLI that has a bound of its own."""

LONG_RUNNING_ABOVE = timedelta(minutes=4, seconds=50)
"""A tool that may wait longer than this is long-running."""

LONG_RUNNING_TOOLS = frozenset(
    {"execute_shell_command", "call_sub_agent", "call_generic_agent", "wait_execution", "wait_tool_call"}
)


class Layer(StrEnum):
    """Who can fire a timeout, the outermost first."""

    TURN_DEADLINE = "turn_deadline"
    MCP_CALL = "mcp_call"
    BRIDGE_HTTP = "bridge_http"
    SERVER_TOOL = "server_tool"
    TOOL_WAIT = "tool_wait"
    IDLE_RETENTION = "idle_retention"
    PROMPT_READY = "prompt_ready"


class ToolClass(StrEnum):
    ORDINARY = "ordinary"
    LONG_RUNNING = "long_running"


@dataclass(frozen=True, slots=True)
class McpTimeoutSetting:
    """How one CLI is told its MCP limit."""

    setting: str
    unit: Literal["ms", "s"]
    value: int
    """The limit in that unit: an exact division."""


@dataclass(frozen=True, slots=True)
class ClientCeiling:
    """A CLI's own bound on an MCP call that we do not set."""

    limit: timedelta
    progress_extends: Literal["verified", "unknown"]


@dataclass(frozen=True, slots=True)
class ProviderLimits:
    """One provider's own defaults."""

    idle_retention: timedelta = timedelta(hours=3)
    prompt_ready_inactivity: timedelta = timedelta(minutes=5)
    prompt_ready_absolute: timedelta | None = None


@dataclass(frozen=True, slots=True)
class PromptReady:
    """The bounds in force for one provider's start."""

    inactivity: timedelta
    absolute: timedelta | None
    """None: the inactivity bound is the only one."""


MCP_TOOL = Setting(
    key="mcp_tool",
    variable="CODING_AGENT_MCP_TOOL_TIMEOUT",
    default=timedelta(minutes=90),
    floor=timedelta(seconds=30),
    ceiling=timedelta(hours=24),
    whole_seconds=True,
)
TOOL_EXECUTION = Setting(
    key="tool_execution",
    variable="TOOL_EXECUTION_TIMEOUT",
    default=timedelta(minutes=90),
    floor=timedelta(microseconds=1),
    zero_is_off=True,
)
BRIDGE_HTTP = Setting(
    key="bridge_http", default=timedelta(minutes=5), floor=timedelta(seconds=10), ceiling=timedelta(hours=24)
)
TOOL_WAIT = Setting(
    key="tool_wait", default=timedelta(minutes=15), floor=timedelta(seconds=1), ceiling=timedelta(hours=24)
)
IDLE_RETENTION = Setting(
    key="idle_retention",
    variable="MCP_AGENT_IDLE_RETENTION",
    default=None,
    floor=timedelta(seconds=1),
    ceiling=timedelta(days=30),
)
PROMPT_READY = Setting(
    key="prompt_ready",
    variable="MCP_AGENT_PROMPT_READY",
    default=None,
    floor=timedelta(seconds=1),
    ceiling=timedelta(hours=24),
)
SETTINGS = (MCP_TOOL, TOOL_EXECUTION, BRIDGE_HTTP, TOOL_WAIT, IDLE_RETENTION, PROMPT_READY)
PROVIDER_SETTINGS = (IDLE_RETENTION, PROMPT_READY)
SETTING_VARIABLES = tuple(setting.variable for setting in SETTINGS if setting.variable)


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """What is fixed about one layer."""

    owner: str
    setting: str
    default: timedelta | None
    """None: none at all, or every provider's own."""
    on_fire: str
    unit: Literal["ms", "s"] = "s"
    """In which the owner is told; `mcp_call` has each CLI's own."""


LAYERS: Mapping[Layer, LayerSpec] = {
    Layer.TURN_DEADLINE: LayerSpec(
        owner="caller",
        setting="--deadline",
        default=None,
        on_fire="the turn is interrupted; the session is kept if it is prompt-ready within 10s",
    ),
    Layer.MCP_CALL: LayerSpec(
        owner="provider CLI",
        setting=MCP_TOOL.name,
        default=MCP_TOOL.default,
        on_fire="the CLI gives up on the call",
    ),
    Layer.BRIDGE_HTTP: LayerSpec(
        owner="mcpbridge",
        setting=BRIDGE_HTTP.name,
        default=BRIDGE_HTTP.default,
        on_fire="the bridge ends the request, which cancels the call",
    ),
    Layer.SERVER_TOOL: LayerSpec(
        owner="tool server",
        setting=TOOL_EXECUTION.name,
        default=TOOL_EXECUTION.default,
        on_fire="the work is cancelled and cleaned up",
    ),
    Layer.TOOL_WAIT: LayerSpec(
        owner="watchdog",
        setting=f"tool declaration, {TOOL_WAIT.name}",
        default=TOOL_WAIT.default,
        on_fire="waiting stops, the work goes on, the outcome is unknown; look it up with get_tool_call",
    ),
    Layer.IDLE_RETENTION: LayerSpec(
        owner="session manager",
        setting=IDLE_RETENTION.name,
        default=IDLE_RETENTION.default,
        on_fire="the idle session is closed",
    ),
    Layer.PROMPT_READY: LayerSpec(
        owner="adapter",
        setting=PROMPT_READY.name,
        default=PROMPT_READY.default,
        on_fire="the start fails, with the screen",
    ),
}


@dataclass(frozen=True, slots=True)
class FileTimeouts:
    """What the configuration file says, by the settings' keys. A zero stands only where it means off."""

    shared: Mapping[str, timedelta] = field(default_factory=dict)
    providers: Mapping[str, Mapping[str, timedelta]] = field(default_factory=dict)
    """By provider id; these beat the shared ones."""


def tool_class(name: str, *, long_running: bool = False, declared_wait: timedelta | None = None) -> ToolClass:
    """The class of a tool: by name, by its own declaration, or by the longest wait that it declares."""
    waits_long = declared_wait is not None and declared_wait > LONG_RUNNING_ABOVE
    return ToolClass.LONG_RUNNING if long_running or waits_long or name in LONG_RUNNING_TOOLS else ToolClass.ORDINARY


def progress_interval(ceiling: ClientCeiling | None) -> timedelta | None:
    """How often the bridge sends progress while a call is pending; None for a CLI without a bound of its own."""
    return None if ceiling is None else min(PROGRESS_INTERVAL, ceiling.limit / 3)


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits in force. `Policy()` holds the defaults."""

    chosen: Mapping[str, Chosen] = field(default_factory=dict)
    """Before nesting, by the settings' keys."""
    chosen_for: Mapping[str, Mapping[str, Chosen]] = field(default_factory=dict)
    """What the file says for one provider, by its id and the settings' keys."""
    warnings: tuple[str, ...] = ()
    """One sentence for every value that could not be taken as it stands."""

    @classmethod
    def resolve(cls, environ: Mapping[str, str], file: FileTimeouts | None = None) -> "Policy":
        """The policy of this environment and configuration; unusable environment values warn and never raise."""
        said, chooser = file or FileTimeouts(), Chooser(environ)
        chosen = {setting.key: chooser.choose(setting, said.shared.get(setting.key)) for setting in SETTINGS}
        chosen_for = {
            provider: {
                setting.key: chooser.from_file(setting, limits[setting.key], section=f"providers.{provider}")
                for setting in PROVIDER_SETTINGS
                if setting.key in limits
            }
            for provider, limits in said.providers.items()
        }
        return cls(chosen, chosen_for, tuple(chooser.warnings))

    def choice(self, setting: Setting) -> Chosen:
        """What was chosen for all providers; its limit is None where each provider has its own."""
        return self.chosen.get(setting.key, Chosen(setting.default))

    def choice_for(self, setting: Setting, provider_id: str, *, own: timedelta) -> Chosen:
        """The environment first, then the file for this provider, then the file for all, then the provider's own."""
        shared, said = self.choice(setting), self.chosen_for.get(provider_id, {}).get(setting.key)
        if shared.source is Source.ENVIRONMENT or (said is None and shared.limit is not None):
            return shared
        return said or Chosen(own)

    @property
    def mcp_call(self) -> timedelta:
        """How long a CLI that can be told waits for one silent MCP call: whole seconds, 30 s to 24 h."""
        return _limit(self.choice(MCP_TOOL))

    @property
    def server_tool(self) -> timedelta | None:
        """How long the work of one call may take; None when it is switched off."""
        return _limit(self.choice(TOOL_EXECUTION)) or None

    def own_bridge_http(self, tool_class: ToolClass) -> Chosen:
        """The bridge's limit before nesting: its own for ordinary tools, the shared MCP value for long-running ones."""
        return self.choice(MCP_TOOL) if tool_class is ToolClass.LONG_RUNNING else self.choice(BRIDGE_HTTP)

    def bridge_http(self, tool_class: ToolClass, *, cli_has_limit: bool = True) -> timedelta:
        """How long the bridge waits for the server.

        `cli_has_limit` is False for a CLI whose adapter sets no MCP timeout: there is no outer wait to stay below.
        """
        outer = self.mcp_call - MARGIN if cli_has_limit else self.mcp_call
        return min(_limit(self.own_bridge_http(tool_class)), outer)

    def tool_wait(
        self,
        tool_class: ToolClass,
        *,
        declared: timedelta | None = None,
        ceiling: ClientCeiling | None = None,
        cli_has_limit: bool = True,
    ) -> timedelta:
        """How long the watchdog waits for the outcome; a declaration that is not positive counts as none."""
        own = declared if declared and declared > timedelta(0) else _limit(self.choice(TOOL_WAIT))
        bounds = [own, self.bridge_http(tool_class, cli_has_limit=cli_has_limit) - MARGIN]
        if ceiling is not None and ceiling.progress_extends != "verified":
            bounds.append(ceiling.limit - min(CEILING_MARGIN, ceiling.limit / 2))
        return min(bounds)

    def server_tool_fires_first(self, wait: timedelta) -> bool:
        """Whether the work is cancelled before a wait of this length would end."""
        return self.server_tool is not None and self.server_tool < wait

    def work_left_after(self, wait: timedelta) -> timedelta | None:
        """How long after the end of this wait the work will be stopped; None when nothing will stop it."""
        return None if self.server_tool is None else max(self.server_tool - wait, timedelta(0))

    def idle_retention(self, provider_id: str, limits: ProviderLimits) -> timedelta:
        """How long an idle session of this provider is kept."""
        return _limit(self.choice_for(IDLE_RETENTION, provider_id, own=limits.idle_retention))

    def prompt_ready(self, provider_id: str, limits: ProviderLimits) -> PromptReady:
        """How long a start of this provider may take; only the inactivity bound can be chosen."""
        chosen = self.choice_for(PROMPT_READY, provider_id, own=limits.prompt_ready_inactivity)
        return PromptReady(_limit(chosen), limits.prompt_ready_absolute)


def _limit(chosen: Chosen) -> timedelta:
    if chosen.limit is None:
        raise ValueError("this limit is each provider's own")
    return chosen.limit
