"""The effective matrix of all timeout layers, one row per layer, provider and class of tool."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from mcp_agent.durations import format_duration
from mcp_agent.timeout_settings import Chosen, Source
from mcp_agent.timeouts import (
    IDLE_RETENTION,
    LAYERS,
    MCP_TOOL,
    PROMPT_READY,
    TOOL_EXECUTION,
    TOOL_WAIT,
    ClientCeiling,
    Layer,
    McpTimeoutSetting,
    Policy,
    ProviderLimits,
    ToolClass,
)


class TimedProvider(Protocol):
    """The part of an adapter that says something about time."""

    @property
    def id(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def limits(self) -> ProviderLimits: ...

    @property
    def client_ceiling(self) -> ClientCeiling | None: ...

    def mcp_timeout(self, limit: timedelta) -> McpTimeoutSetting | None: ...


@dataclass(frozen=True, slots=True)
class LayerRow:
    """One layer as it stands for one provider and, where that matters, one class of tool."""

    layer: Layer
    owner: str
    provider: str
    tool_class: ToolClass | None
    configured: timedelta | None
    """Before nesting; None: no limit."""
    effective: timedelta | None
    """What really bounds it; None: no limit."""
    setting: str | None
    """What a person sets; None where there is nothing to set."""
    unit: str | None
    """In which the owner is told; None where it is not told."""
    source: Source
    configurable: bool
    on_fire: str
    off: bool = False
    """Switched off by a person."""
    note: str = ""
    """What cannot be configured about it, and why; or how the owner is told."""

    def as_json(self) -> dict[str, object]:
        return {
            "layer": self.layer,
            "owner": self.owner,
            "provider": self.provider,
            "tool_class": self.tool_class,
            "configured_seconds": _seconds(self.configured),
            "effective_seconds": _seconds(self.effective),
            "setting": self.setting,
            "unit": self.unit,
            "source": self.source,
            "configurable": self.configurable,
            "on_fire": self.on_fire,
        }


def rows(policy: Policy, providers: Sequence[TimedProvider]) -> list[LayerRow]:
    """The whole matrix: for each provider in turn all its layers, the outermost first."""
    return [row for provider in providers for row in _provider_rows(policy, provider)]


def _provider_rows(policy: Policy, provider: TimedProvider) -> Iterator[LayerRow]:
    told = provider.mcp_timeout(policy.mcp_call)
    has_limit = told is not None
    yield _row(
        provider, Layer.TURN_DEADLINE, Chosen(None), note="no setting: whoever starts the turn names it, or has none"
    )
    yield _mcp_call(policy, provider, told)
    for tool_class in ToolClass:
        chosen = policy.own_bridge_http(tool_class)
        effective = policy.bridge_http(tool_class, cli_has_limit=has_limit)
        setting = MCP_TOOL.name if tool_class is ToolClass.LONG_RUNNING else None
        yield _row(provider, Layer.BRIDGE_HTTP, chosen, effective=effective, tool_class=tool_class, setting=setting)
    yield _server_tool(policy, provider)
    for tool_class in ToolClass:
        yield _tool_wait(policy, provider, tool_class=tool_class, has_limit=has_limit)
    idle = policy.choice_for(IDLE_RETENTION, provider.id, own=provider.limits.idle_retention)
    yield _row(provider, Layer.IDLE_RETENTION, idle)
    yield _prompt_ready(policy, provider)


def _mcp_call(policy: Policy, provider: TimedProvider, told: McpTimeoutSetting | None) -> LayerRow:
    if told is not None:
        note = f"told to the CLI as {told.setting}={told.value} ({told.unit})"
        return _row(provider, Layer.MCP_CALL, policy.choice(MCP_TOOL), unit=told.unit, note=note)
    spec = LAYERS[Layer.MCP_CALL]
    return LayerRow(
        layer=Layer.MCP_CALL,
        owner=spec.owner,
        provider=provider.id,
        tool_class=None,
        configured=None,
        effective=None,
        setting=None,
        unit=None,
        source=Source.DEFAULT,
        configurable=False,
        on_fire=spec.on_fire,
        note=f"not configurable: no MCP timeout is set for this CLI{_ceiling(provider.client_ceiling)}",
    )


def _ceiling(ceiling: ClientCeiling | None) -> str:
    if ceiling is None:
        return ""
    own = f"; its own bound of {format_duration(ceiling.limit)} cannot be moved, and "
    if ceiling.progress_extends == "verified":
        return own + "progress from the bridge extends it"
    return own + "progress is not known to extend it: tool_wait stays below it"


def _server_tool(policy: Policy, provider: TimedProvider) -> LayerRow:
    chosen, limit = policy.choice(TOOL_EXECUTION), policy.server_tool
    return _row(provider, Layer.SERVER_TOOL, Chosen(limit, chosen.source), off=limit is None)


def _tool_wait(policy: Policy, provider: TimedProvider, *, tool_class: ToolClass, has_limit: bool) -> LayerRow:
    effective = policy.tool_wait(tool_class, ceiling=provider.client_ceiling, cli_has_limit=has_limit)
    return _row(provider, Layer.TOOL_WAIT, policy.choice(TOOL_WAIT), effective=effective, tool_class=tool_class)


def _prompt_ready(policy: Policy, provider: TimedProvider) -> LayerRow:
    chosen = policy.choice_for(PROMPT_READY, provider.id, own=provider.limits.prompt_ready_inactivity)
    absolute = provider.limits.prompt_ready_absolute
    note = "without activity on the screen"
    if absolute is not None:
        note += f"; not configurable: at most {format_duration(absolute)} in all, activity or not"
    return _row(provider, Layer.PROMPT_READY, chosen, note=note)


def _row(
    provider: TimedProvider,
    layer: Layer,
    chosen: Chosen,
    *,
    effective: timedelta | None = None,
    tool_class: ToolClass | None = None,
    setting: str | None = None,
    unit: str | None = None,
    off: bool = False,
    note: str = "",
) -> LayerRow:
    spec = LAYERS[layer]
    return LayerRow(
        layer=layer,
        owner=spec.owner,
        provider=provider.id,
        tool_class=tool_class,
        configured=chosen.limit,
        effective=chosen.limit if effective is None else effective,
        setting=setting or spec.setting,
        unit=unit or spec.unit,
        source=chosen.source,
        configurable=True,
        on_fire=spec.on_fire,
        off=off,
        note=note,
    )


def _seconds(limit: timedelta | None) -> float | None:
    return None if limit is None else limit.total_seconds()
