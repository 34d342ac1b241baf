"""How Claude Code is started: flags, environment, files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest

from adapters.claude_code import ADAPTER
from mcp_agent.adapter import Launch, LaunchRequest, ModelEndpoint


def flag(launch: Launch, name: str) -> str:
    """The value after a flag that stands there once."""
    assert list(launch.argv).count(name) == 1
    return launch.argv[list(launch.argv).index(name) + 1]


def written(launch: Launch, name: str) -> Mapping[str, object]:
    (text,) = (file.text for file in launch.files if file.path.name == name)
    loaded = json.loads(text)
    assert isinstance(loaded, dict)
    return loaded


def names(launch: Launch) -> Sequence[str]:
    return sorted(file.path.name for file in launch.files)


@pytest.mark.contract("T3")
def test_the_cli_is_told_its_mcp_limit_in_milliseconds(launch_request: LaunchRequest) -> None:
    environment = ADAPTER.launch(launch_request).environment

    assert environment["CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"] == "5400000"
    assert environment["CLAUDE_CODE_MCP_AUTO_BACKGROUND_MS"] == "0"


@pytest.mark.contract("T3", "B5")
def test_limits_that_a_users_own_settings_would_outrank_stand_in_ours(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(launch_request)
    limits = cast("dict[str, str]", written(launch, "settings.json")["env"])

    assert {"CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", "MCP_TOOL_TIMEOUT", "MAX_MCP_OUTPUT_TOKENS"} <= limits.keys()
    assert limits == {name: launch.environment[name] for name in limits}
    assert not {name for name in limits if name.startswith("ANTHROPIC_")}


@pytest.mark.contract("T3", "T11")
def test_another_limit_is_written_as_exactly(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, mcp_call=timedelta(seconds=30, milliseconds=1)))

    assert launch.environment["CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"] == "30001"


def test_the_bridge_is_the_only_mcp_server(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(launch_request)
    program, *arguments = launch_request.bridge_command

    assert "--strict-mcp-config" in launch.argv
    assert flag(launch, "--mcp-config") == "/state/sessions/s-1/mcp.json"
    assert written(launch, "mcp.json") == {
        "mcpServers": {"api-bridge": {"type": "stdio", "command": program, "args": arguments, "env": {}}}
    }


def test_every_needed_hook_runs_the_event_program(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, event_command=("/a b/python", "$x", "'")))
    hooks = written(launch, "settings.json")["hooks"]

    assert flag(launch, "--settings") == "/state/sessions/s-1/settings.json"
    assert isinstance(hooks, dict)
    assert {"SessionStart", "UserPromptSubmit", "Stop", "StopFailure"} <= hooks.keys()
    commands = {hook["command"] for entries in hooks.values() for entry in entries for hook in entry["hooks"]}
    assert commands == {"""'/a b/python' '$x' ''"'"''"""}


@pytest.mark.contract("A5")
def test_the_cli_asks_unless_another_mode_was_named(launch_request: LaunchRequest) -> None:
    named = replace(launch_request, permission_mode="bypassPermissions")

    assert flag(ADAPTER.launch(launch_request), "--permission-mode") == "manual"
    assert flag(ADAPTER.launch(named), "--permission-mode") == "bypassPermissions"
    assert not any("dangerous" in word for word in ADAPTER.launch(launch_request).argv)


@pytest.mark.contract("A5")
def test_only_named_tools_need_no_permission(launch_request: LaunchRequest) -> None:
    named = replace(launch_request, allow_tools=frozenset({"b", "a"}))

    assert "--allowedTools" not in ADAPTER.launch(launch_request).argv
    assert flag(ADAPTER.launch(named), "--allowedTools") == "mcp__api-bridge__a,mcp__api-bridge__b"


def test_the_built_in_shells_are_taken_away_on_request(launch_request: LaunchRequest) -> None:
    without = replace(launch_request, provider_shell=False)

    assert "--disallowedTools" not in ADAPTER.launch(launch_request).argv
    assert flag(ADAPTER.launch(without), "--disallowedTools") == "Bash,Monitor"


@pytest.mark.contract("S7")
def test_a_resumed_conversation_keeps_its_id(launch_request: LaunchRequest) -> None:
    first, again = ADAPTER.launch(launch_request), ADAPTER.launch(replace(launch_request, resume=True))

    assert flag(first, "--session-id") == flag(again, "--resume") == launch_request.native_session_id
    assert ("--resume" in first.argv, "--session-id" in again.argv) == (False, False)
    assert first.native_session_id == again.native_session_id == launch_request.native_session_id


def test_a_model_is_named_only_when_one_was_chosen(launch_request: LaunchRequest) -> None:
    assert "--model" not in ADAPTER.launch(launch_request).argv
    assert flag(ADAPTER.launch(replace(launch_request, model="m-1")), "--model") == "m-1"


@pytest.mark.contract("A2")
def test_an_endpoint_and_its_key_stand_in_the_environment_only(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, endpoint=ModelEndpoint("http://127.0.0.1:7", "sk-0123456789")))

    assert launch.environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:7"
    assert launch.environment["ANTHROPIC_API_KEY"] == "sk-0123456789"
    assert "sk-0123456789" not in " ".join(launch.argv) + repr(launch)
    assert not any("sk-0123456789" in file.text for file in launch.files)


def test_the_providers_own_model_needs_no_endpoint(launch_request: LaunchRequest) -> None:
    environment = ADAPTER.launch(replace(launch_request, endpoint=None)).environment

    assert not {name for name in environment if name.startswith("ANTHROPIC_")}


@pytest.mark.contract("A4")
def test_nothing_is_written_into_the_users_home(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, trust=True))

    assert names(launch) == ["mcp.json", "settings.json"]
    assert "TMPDIR" not in launch.environment


@pytest.mark.contract("A4")
def test_a_home_of_ours_needs_no_onboarding(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, home_is_ours=True))
    state = written(launch, ".claude.json")

    assert (state["hasCompletedOnboarding"], state["hasSeenAutoDefaultNotice"]) == (True, True)
    assert state["customApiKeyResponses"] == {"approved": ["11-that-nobody-may-see"[-20:]], "rejected": []}
    assert Path(launch.environment["TMPDIR"]).is_relative_to(launch_request.home)


@pytest.mark.contract("A4")
def test_a_home_of_ours_approves_the_key_that_the_cli_runs_with(launch_request: LaunchRequest) -> None:
    own = {"ANTHROPIC_API_KEY": "sk-test-of-the-environment-alone"}
    launch = ADAPTER.launch(replace(launch_request, home_is_ours=True, endpoint=None, own_environment=own))
    approved = written(launch, ".claude.json")["customApiKeyResponses"]

    assert approved == {"approved": [own["ANTHROPIC_API_KEY"][-20:]], "rejected": []}


@pytest.mark.contract("A5")
def test_a_directory_is_trusted_ahead_only_in_a_home_of_ours_and_with_consent(launch_request: LaunchRequest) -> None:
    ours = replace(launch_request, home_is_ours=True)

    assert "projects" not in written(ADAPTER.launch(ours), ".claude.json")
    trusting = written(ADAPTER.launch(replace(ours, trust=True)), ".claude.json")
    assert trusting["projects"] == {
        "/srv/project": {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    }


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("2.1.332 (Claude Code)\n", "2.1.332"),
        ("warning\n3.0.0-rc1 (Claude Code)", "3.0.0-rc1"),
        ("2.1.332", None),
        ("", None),
    ],
)
def test_the_version_is_found_in_what_the_program_prints(output: str, version: str | None) -> None:
    assert ADAPTER.parse_version(output) == version


def test_the_transcript_is_found_by_its_id_alone() -> None:
    assert ADAPTER.transcript_glob("1cf6") == ".claude/projects/*/1cf6.jsonl"
