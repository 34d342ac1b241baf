"""Every layer's limit: what is chosen, and how the limits nest."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.durations import format_duration
from mcp_agent.registry import load_all
from mcp_agent.timeout_settings import Source
from mcp_agent.timeouts import (
    LAYERS,
    MARGIN,
    PROGRESS_INTERVAL,
    SETTINGS,
    TOOL_EXECUTION,
    ClientCeiling,
    FileTimeouts,
    Layer,
    McpTimeoutSetting,
    Policy,
    ProviderLimits,
    ToolClass,
    progress_interval,
    tool_class,
)
from mcp_agent.timeouts_matrix import LayerRow, rows

MINUTE = timedelta(minutes=1)
MCP, TOOL = "CODING_AGENT_MCP_TOOL_TIMEOUT", "TOOL_EXECUTION_TIMEOUT"


@dataclass(frozen=True)
class Provider:
    """The timed part of an adapter, with whatever a test wants it to say."""

    id: str = "one"
    unit: Literal["ms", "s"] | None = "ms"
    limits: ProviderLimits = field(default_factory=ProviderLimits)
    client_ceiling: ClientCeiling | None = None

    @property
    def title(self) -> str:
        return self.id.title()

    def mcp_timeout(self, limit: timedelta) -> McpTimeoutSetting | None:
        if self.unit is None:
            return None
        one = timedelta(milliseconds=1) if self.unit == "ms" else timedelta(seconds=1)
        return McpTimeoutSetting("LIMIT", self.unit, limit // one)


PATIENT = Provider(
    "patient", unit="s", limits=ProviderLimits(prompt_ready_inactivity=10 * MINUTE, prompt_ready_absolute=90 * MINUTE)
)
CUT = Provider("cut", unit=None, client_ceiling=ClientCeiling(MINUTE, "unknown"))
EXTENDED = Provider("extended", unit=None, client_ceiling=ClientCeiling(MINUTE, "verified"))


def one_row(found: Sequence[LayerRow], layer: Layer, tool_class: ToolClass | None = None) -> LayerRow:
    (row,) = [row for row in found if row.layer is layer and row.tool_class is tool_class]
    return row


# --- T1: the layers are declared once --------------------------------------------------------------------------------


@pytest.mark.contract("T1")
def test_every_layer_is_declared_with_owner_setting_and_recovery() -> None:
    assert set(LAYERS) == set(Layer)
    assert all(spec.owner and spec.setting and spec.on_fire and spec.unit for spec in LAYERS.values())


@pytest.mark.contract("T1")
def test_the_defaults_are_those_of_the_contract() -> None:
    found = rows(Policy(), [Provider()])
    assert [(row.layer, row.tool_class, row.configured) for row in found] == [
        ("turn_deadline", None, None),
        ("mcp_call", None, 90 * MINUTE),
        ("bridge_http", "ordinary", 5 * MINUTE),
        ("bridge_http", "long_running", 90 * MINUTE),
        ("server_tool", None, 90 * MINUTE),
        ("tool_wait", "ordinary", 15 * MINUTE),
        ("tool_wait", "long_running", 15 * MINUTE),
        ("idle_retention", None, 180 * MINUTE),
        ("prompt_ready", None, 5 * MINUTE),
    ]
    assert {row.source for row in found} == {Source.DEFAULT}


@pytest.mark.contract("T1")
def test_a_row_is_written_with_exactly_the_fields_of_the_contract() -> None:
    assert one_row(rows(Policy(), [Provider()]), Layer.BRIDGE_HTTP, ToolClass.LONG_RUNNING).as_json() == {
        "layer": "bridge_http",
        "owner": "mcpbridge",
        "provider": "one",
        "tool_class": "long_running",
        "configured_seconds": 5400.0,
        "effective_seconds": 5395.0,
        "setting": "CODING_AGENT_MCP_TOOL_TIMEOUT",
        "unit": "s",
        "source": "default",
        "configurable": True,
        "on_fire": "the bridge ends the request, which cancels the call",
    }


@pytest.mark.contract("T1")
def test_the_matrix_says_where_each_value_came_from() -> None:
    file = FileTimeouts({"tool_execution": 20 * MINUTE, "idle_retention": 60 * MINUTE})
    found = rows(Policy.resolve({MCP: "17m", "MCP_AGENT_PROMPT_READY": "1m"}, file), [Provider()])
    assert one_row(found, Layer.MCP_CALL).source is Source.ENVIRONMENT
    assert one_row(found, Layer.BRIDGE_HTTP, ToolClass.LONG_RUNNING).source is Source.ENVIRONMENT
    assert one_row(found, Layer.BRIDGE_HTTP, ToolClass.ORDINARY).source is Source.DEFAULT
    assert one_row(found, Layer.SERVER_TOOL).source is Source.FILE
    assert one_row(found, Layer.IDLE_RETENTION).source is Source.FILE
    assert one_row(found, Layer.PROMPT_READY).source is Source.ENVIRONMENT


@pytest.mark.contract("T1")
def test_an_absolute_readiness_bound_is_named_as_not_configurable() -> None:
    row = one_row(rows(Policy(), [PATIENT]), Layer.PROMPT_READY)
    assert row.configured == 10 * MINUTE
    assert "not configurable: at most 90m in all" in row.note


@pytest.mark.contract("T7")
def test_a_switched_off_bound_is_marked_in_the_matrix() -> None:
    row = one_row(rows(Policy.resolve({TOOL: "0"}), [Provider()]), Layer.SERVER_TOOL)
    assert (row.off, row.configured, row.effective, row.source) == (True, None, None, Source.ENVIRONMENT)


# --- T3, T4, T11: units are exact divisions ---------------------------------------------------------------------------


@pytest.mark.contract("T3", "T11")
@pytest.mark.parametrize(("unit", "values"), [("ms", [5_400_000, 1_020_000, 46_000]), ("s", [5400, 1020, 46])])
def test_a_provider_is_told_whole_numbers_of_its_own_unit(unit: Literal["ms", "s"], values: list[int]) -> None:
    told = [Provider(unit=unit).mcp_timeout(Policy.resolve({MCP: text}).mcp_call) for text in ("90m", "17m", "45.5s")]
    assert [setting.value for setting in told if setting] == values


@pytest.mark.contract("T3")
def test_the_matrix_names_each_providers_own_setting_and_unit() -> None:
    row = one_row(rows(Policy(), [PATIENT]), Layer.MCP_CALL)
    assert (row.unit, row.note) == ("s", "told to the CLI as LIMIT=5400 (s)")


# --- T5: bounds of a CLI that we do not set ---------------------------------------------------------------------------


@pytest.mark.contract("T5")
def test_an_unverified_ceiling_ends_our_wait_fifteen_seconds_before_it() -> None:
    for kind in ToolClass:
        for declared in (None, 2 * MINUTE, 999 * MINUTE):
            wait = Policy().tool_wait(kind, declared=declared, ceiling=CUT.client_ceiling, cli_has_limit=False)
            assert wait == timedelta(seconds=45)


@pytest.mark.contract("T5")
def test_a_shorter_declaration_stays_below_an_unverified_ceiling() -> None:
    declared = timedelta(seconds=20)
    assert Policy().tool_wait(ToolClass.ORDINARY, declared=declared, ceiling=CUT.client_ceiling) == declared


@pytest.mark.contract("T5")
def test_a_verified_ceiling_shortens_no_wait() -> None:
    assert Policy().tool_wait(ToolClass.LONG_RUNNING, ceiling=EXTENDED.client_ceiling) == 15 * MINUTE


@pytest.mark.contract("T5")
def test_a_ceiling_shorter_than_the_margin_still_leaves_a_wait() -> None:
    ceiling = ClientCeiling(timedelta(seconds=10), "unknown")
    assert Policy().tool_wait(ToolClass.ORDINARY, ceiling=ceiling) == timedelta(seconds=5)


@pytest.mark.contract("T5")
def test_progress_is_sent_only_to_a_cli_with_a_bound_of_its_own() -> None:
    assert progress_interval(None) is None
    assert progress_interval(CUT.client_ceiling) == progress_interval(EXTENDED.client_ceiling) == PROGRESS_INTERVAL
    assert progress_interval(ClientCeiling(timedelta(seconds=9), "verified")) == timedelta(seconds=3)


@pytest.mark.contract("T1", "T5")
@pytest.mark.parametrize(
    ("provider", "why"),
    [
        (CUT, "its own bound of 1m cannot be moved, and progress is not known to extend it"),
        (EXTENDED, "its own bound of 1m cannot be moved, and progress from the bridge extends it"),
        (Provider(unit=None), "no MCP timeout is set for this CLI"),
    ],
)
def test_a_cli_without_a_setting_is_shown_as_not_configurable_and_why(provider: Provider, why: str) -> None:
    row = one_row(rows(Policy.resolve({MCP: "17m"}), [provider]), Layer.MCP_CALL)
    assert (row.configured, row.effective, row.setting, row.unit) == (None, None, None, None)
    assert not row.configurable
    assert why in row.note


# --- T6: long-running tools ------------------------------------------------------------------------------------------


@pytest.mark.contract("T6")
@pytest.mark.parametrize(
    "name",
    ["execute_shell_command", "call_sub_agent", "call_generic_agent", "wait_execution", "wait_tool_call"],
)
def test_the_contracts_tools_are_long_running_by_name(name: str) -> None:
    assert tool_class(name) is ToolClass.LONG_RUNNING


@pytest.mark.contract("T6")
def test_a_tool_is_long_running_when_it_says_so_or_may_wait_longer_than_four_minutes_fifty() -> None:
    limit = timedelta(minutes=4, seconds=50)
    assert tool_class("lookup") is ToolClass.ORDINARY
    assert tool_class("lookup", long_running=True) is ToolClass.LONG_RUNNING
    assert tool_class("lookup", declared_wait=limit) is ToolClass.ORDINARY
    assert tool_class("lookup", declared_wait=limit + timedelta(microseconds=1)) is ToolClass.LONG_RUNNING


@pytest.mark.contract("T6", "T8")
def test_the_longest_declaration_of_an_ordinary_tool_is_not_cut_by_the_bridge() -> None:
    limit = timedelta(minutes=4, seconds=50)
    assert Policy().tool_wait(ToolClass.ORDINARY, declared=limit) == limit


# --- T8: waits nest, work is bounded on its own -----------------------------------------------------------------------


def usual_texts(least: int, most: int) -> st.SearchStrategy[str]:
    return st.timedeltas(timedelta(seconds=least), timedelta(seconds=most)).map(format_duration)


ENVIRONMENTS = st.fixed_dictionaries(
    {},
    optional={
        setting.variable: st.one_of(usual_texts(0, 600), usual_texts(0, 200_000), st.text(max_size=12))
        for setting in SETTINGS
        if setting.variable
    },
)
POSITIVE = st.timedeltas(timedelta(microseconds=1), timedelta.max)
FILES = st.builds(
    FileTimeouts,
    st.fixed_dictionaries({}, optional={s.key: POSITIVE for s in SETTINGS if s is not TOOL_EXECUTION}),
)
CEILINGS = st.none() | st.builds(
    ClientCeiling, st.timedeltas(timedelta(milliseconds=1), timedelta(days=2)), st.sampled_from(["verified", "unknown"])
)
DECLARED = st.none() | st.timedeltas()


@pytest.mark.contract("T8", "W2")
@given(ENVIRONMENTS, FILES, CEILINGS, DECLARED, st.sampled_from(ToolClass), st.booleans())
def test_waits_nest_under_every_override(
    environ: dict[str, str],
    file: FileTimeouts,
    ceiling: ClientCeiling | None,
    declared: timedelta | None,
    kind: ToolClass,
    cli_has_limit: bool,
) -> None:
    policy = Policy.resolve(environ, file)
    bridge = policy.bridge_http(kind, cli_has_limit=cli_has_limit)
    wait = policy.tool_wait(kind, declared=declared, ceiling=ceiling, cli_has_limit=cli_has_limit)
    assert timedelta(0) < wait <= bridge - MARGIN
    assert not cli_has_limit or bridge <= policy.mcp_call - MARGIN
    assert timedelta(seconds=30) <= policy.mcp_call <= timedelta(hours=24)
    assert ceiling is None or ceiling.progress_extends == "verified" or wait < ceiling.limit


@pytest.mark.contract("T8")
@given(ENVIRONMENTS, FILES, CEILINGS, DECLARED, st.sampled_from(ToolClass))
def test_no_wait_shortens_the_bound_of_the_work(
    environ: dict[str, str],
    file: FileTimeouts,
    ceiling: ClientCeiling | None,
    declared: timedelta | None,
    kind: ToolClass,
) -> None:
    policy = Policy.resolve(environ, file)
    assert policy.server_tool == (policy.choice(TOOL_EXECUTION).limit or None)
    wait = policy.tool_wait(kind, declared=declared, ceiling=ceiling)
    left = policy.work_left_after(wait)
    if policy.server_tool is None:
        assert left is None
        assert not policy.server_tool_fires_first(wait)
    elif policy.server_tool_fires_first(wait):
        assert policy.server_tool < wait
    else:
        assert left is not None
        assert wait + left == policy.server_tool


@pytest.mark.contract("T8")
@pytest.mark.parametrize(
    ("text", "bridge", "wait"),
    [("90m", 300, 295), ("17m", 300, 295), ("5m", 295, 290), ("45s", 40, 35), ("10s", 25, 20), ("bad", 300, 295)],
)
def test_an_override_shorter_than_five_minutes_shortens_the_waits_inside_it(text: str, bridge: int, wait: int) -> None:
    policy = Policy.resolve({MCP: text})
    assert policy.bridge_http(ToolClass.ORDINARY) == timedelta(seconds=bridge)
    assert policy.tool_wait(ToolClass.ORDINARY) == timedelta(seconds=wait)


@pytest.mark.contract("T8")
def test_without_a_limit_of_the_cli_only_the_two_inner_waits_nest() -> None:
    assert Policy().bridge_http(ToolClass.LONG_RUNNING, cli_has_limit=False) == 90 * MINUTE
    declared = Policy().tool_wait(ToolClass.LONG_RUNNING, declared=timedelta(days=9), cli_has_limit=False)
    assert declared == 90 * MINUTE - MARGIN
    assert one_row(rows(Policy(), [CUT]), Layer.BRIDGE_HTTP, ToolClass.LONG_RUNNING).effective == 90 * MINUTE


@pytest.mark.contract("T8")
def test_a_policy_says_when_the_work_will_be_stopped_after_the_wait() -> None:
    policy = Policy.resolve({TOOL: "20m"})
    assert policy.work_left_after(15 * MINUTE) == 5 * MINUTE
    assert not policy.server_tool_fires_first(15 * MINUTE)
    assert policy.server_tool_fires_first(21 * MINUTE)
    assert policy.work_left_after(21 * MINUTE) == timedelta(0)


@pytest.mark.contract("W2")
@pytest.mark.parametrize("nonsense", [timedelta(0), timedelta(seconds=-1), timedelta.min])
def test_a_declared_wait_that_is_not_positive_counts_as_none(nonsense: timedelta) -> None:
    assert Policy().tool_wait(ToolClass.LONG_RUNNING, declared=nonsense) == 15 * MINUTE


@pytest.mark.contract("T3", "T8")
@pytest.mark.parametrize("text", ["90m", "17m", "45s", "10s", "bad"])
def test_waits_nest_for_every_installed_adapter(text: str) -> None:
    policy = Policy.resolve({MCP: text})
    for adapter in load_all():
        found = rows(policy, [adapter])
        outer = one_row(found, Layer.MCP_CALL).effective or timedelta.max
        for kind in ToolClass:
            bridge, wait = (one_row(found, layer, kind).effective for layer in (Layer.BRIDGE_HTTP, Layer.TOOL_WAIT))
            assert wait is not None
            assert bridge is not None
            assert wait < bridge < outer
