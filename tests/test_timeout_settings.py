"""How each limit is chosen: usable values are taken, and nothing unusable switches a guard off."""

from datetime import timedelta

import pytest

from mcp_agent.durations import format_duration
from mcp_agent.timeout_settings import Source
from mcp_agent.timeouts import MCP_TOOL, FileTimeouts, Policy, PromptReady, ProviderLimits

MINUTE = timedelta(minutes=1)
MCP, TOOL = "CODING_AGENT_MCP_TOOL_TIMEOUT", "TOOL_EXECUTION_TIMEOUT"
PATIENT = ProviderLimits(prompt_ready_inactivity=10 * MINUTE, prompt_ready_absolute=90 * MINUTE)


# --- T2: the shared MCP limit ----------------------------------------------------------------------------------------


@pytest.mark.contract("T2")
@pytest.mark.parametrize(
    ("text", "seconds", "warned"),
    [
        (None, 5400, False),
        ("90m", 5400, False),
        ("1h30m", 5400, False),
        ("5400s", 5400, False),
        ("17m", 1020, False),
        ("45s", 45, False),
        ("30s", 30, False),
        ("24h", 86_400, False),
        ("45.2s", 46, False),
        ("10s", 30, True),
        ("29.9s", 30, True),
        ("25h", 86_400, True),
        ("24h1ms", 86_400, True),
        ("90", 5400, True),
        ("0", 5400, True),
        ("0s", 5400, True),
        ("-1s", 5400, True),
        ("-90m", 5400, True),
        ("inf", 5400, True),
        ("nan", 5400, True),
        ("bad", 5400, True),
        ("", 5400, True),
        ("1e9999", 5400, True),
        ("99999999999h", 5400, True),
    ],
)
def test_the_shared_limit_is_always_one_that_guards(text: str | None, seconds: int, warned: bool) -> None:
    policy = Policy.resolve({} if text is None else {MCP: text})
    assert policy.mcp_call == timedelta(seconds=seconds)
    assert len(policy.warnings) == (1 if warned else 0)
    for warning in policy.warnings:
        assert MCP in warning
        assert (text or "''") in warning
        assert format_duration(policy.mcp_call) in warning


@pytest.mark.contract("T2")
def test_a_range_is_kept_for_the_file_too() -> None:
    policy = Policy.resolve({}, FileTimeouts({"mcp_tool": timedelta(seconds=1)}))
    assert policy.mcp_call == timedelta(seconds=30)
    assert policy.warnings == ("[timeouts] mcp_tool = 1s is under the least limit; using 30s",)


@pytest.mark.contract("T2")
def test_an_unusable_variable_gives_ninety_minutes_and_not_the_files_value() -> None:
    policy = Policy.resolve({MCP: "90"}, FileTimeouts({"mcp_tool": 2 * MINUTE}))
    assert policy.mcp_call == 90 * MINUTE
    assert policy.choice(MCP_TOOL).source is Source.DEFAULT


# --- T7: the bound of the work ---------------------------------------------------------------------------------------


@pytest.mark.contract("T7")
@pytest.mark.parametrize(
    ("text", "limit", "warned"),
    [
        (None, 90 * MINUTE, False),
        ("0", None, False),
        ("0s", None, False),
        ("10s", timedelta(seconds=10), False),
        ("100h", timedelta(hours=100), False),
        ("1ns", timedelta(microseconds=1), False),
        ("-1s", 90 * MINUTE, True),
        ("90", 90 * MINUTE, True),
        ("off", 90 * MINUTE, True),
        ("nan", 90 * MINUTE, True),
        ("inf", 90 * MINUTE, True),
        ("", 90 * MINUTE, True),
    ],
)
def test_only_an_explicit_zero_switches_the_bound_of_the_work_off(
    text: str | None, limit: timedelta | None, warned: bool
) -> None:
    policy = Policy.resolve({} if text is None else {TOOL: text})
    assert policy.server_tool == limit
    assert len(policy.warnings) == (1 if warned else 0)
    assert all(TOOL in warning and "using 90m" in warning for warning in policy.warnings)


# --- idle retention and prompt readiness -----------------------------------------------------------------------------


def test_a_providers_own_limits_stand_when_nobody_chose_others() -> None:
    assert Policy().idle_retention("patient", PATIENT) == timedelta(hours=3)
    assert Policy().prompt_ready("patient", PATIENT) == PromptReady(10 * MINUTE, 90 * MINUTE)


def test_the_file_for_one_provider_beats_the_file_for_all() -> None:
    policy = Policy.resolve({}, FileTimeouts({"idle_retention": MINUTE}, {"one": {"idle_retention": 2 * MINUTE}}))
    assert policy.idle_retention("one", ProviderLimits()) == 2 * MINUTE
    assert policy.idle_retention("another", ProviderLimits()) == MINUTE


def test_the_environment_beats_the_file_for_one_provider() -> None:
    environ = {"MCP_AGENT_IDLE_RETENTION": "7m", "MCP_AGENT_PROMPT_READY": "8m"}
    policy = Policy.resolve(environ, FileTimeouts({}, {"one": {"idle_retention": MINUTE, "prompt_ready": MINUTE}}))
    assert policy.idle_retention("one", ProviderLimits()) == 7 * MINUTE
    assert policy.prompt_ready("one", PATIENT) == PromptReady(8 * MINUTE, 90 * MINUTE)


def test_an_unusable_environment_value_warns_and_leaves_the_files() -> None:
    policy = Policy.resolve({"MCP_AGENT_IDLE_RETENTION": "0"}, FileTimeouts({"idle_retention": MINUTE}))
    assert policy.idle_retention("one", ProviderLimits()) == MINUTE
    (warning,) = policy.warnings
    assert "MCP_AGENT_IDLE_RETENTION" in warning
    assert "each provider's own" in warning


def test_a_providers_own_value_in_the_file_is_held_in_range() -> None:
    policy = Policy.resolve({}, FileTimeouts({}, {"one": {"prompt_ready": timedelta(days=900)}}))
    assert policy.prompt_ready("one", ProviderLimits()).inactivity == timedelta(hours=24)
    assert policy.warnings == ("[providers.one] prompt_ready = 21600h is over the greatest limit; using 24h",)
