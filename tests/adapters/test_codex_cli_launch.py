"""How Codex CLI is started: flags, overrides, environment."""

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from adapters.codex_cli import ADAPTER
from mcp_agent.adapter import Launch, LaunchRequest, ModelEndpoint


def overridden(launch: Launch) -> dict[str, Any]:
    """What the overrides say, as the CLI reads them: a dotted key, and a value in TOML."""
    words = list(launch.argv)
    pairs = [words[place + 1] for place, word in enumerate(words) if word == "-c"]
    assert len({pair.partition("=")[0] for pair in pairs}) == len(pairs)
    split = (pair.partition("=") for pair in pairs)
    return {key: tomllib.loads(f"value = {value}")["value"] for key, _, value in split}


def bridge(launch: Launch) -> Mapping[str, Any]:
    server = overridden(launch)["mcp_servers.api-bridge"]
    assert isinstance(server, dict)
    return server


def flag(launch: Launch, name: str) -> str:
    """The value after a flag that stands there once."""
    assert list(launch.argv).count(name) == 1
    return launch.argv[list(launch.argv).index(name) + 1]


@pytest.mark.contract("T4")
def test_the_cli_is_told_its_mcp_limit_in_seconds_and_needs_the_bridge(launch_request: LaunchRequest) -> None:
    server = bridge(ADAPTER.launch(launch_request))

    assert (server["tool_timeout_sec"], server["required"], server["startup_timeout_sec"]) == (5400, True, 60)


@pytest.mark.contract("T4", "T11")
def test_another_limit_is_written_as_exactly(launch_request: LaunchRequest) -> None:
    limit = timedelta(minutes=17)
    setting = ADAPTER.mcp_timeout(limit)

    assert bridge(ADAPTER.launch(replace(launch_request, mcp_call=limit)))["tool_timeout_sec"] == 1020
    assert setting is not None
    assert (setting.setting, setting.unit, setting.value) == ("mcp_servers.api-bridge.tool_timeout_sec", "s", 1020)


def test_the_bridge_is_started_as_it_was_given_and_its_process_is_marked(launch_request: LaunchRequest) -> None:
    odd = ("/a b/python", 'say "hi"', "it's", "back\\slash", "ünï=[]{}", "line\nbreak")
    server = bridge(ADAPTER.launch(replace(launch_request, bridge_command=odd)))

    assert (server["command"], *server["args"]) == odd
    assert server["env_vars"] == ["MCP_AGENT_SESSION"]


@pytest.mark.contract("A5")
def test_only_named_tools_need_no_permission(launch_request: LaunchRequest) -> None:
    named = replace(launch_request, allow_tools=frozenset({"b", "a"}))

    assert bridge(ADAPTER.launch(launch_request))["tools"] == {}
    assert bridge(ADAPTER.launch(named))["tools"] == {
        "a": {"approval_mode": "approve"},
        "b": {"approval_mode": "approve"},
    }


@pytest.mark.contract("A5")
def test_the_cli_asks_unless_another_mode_was_named(launch_request: LaunchRequest) -> None:
    asking = ADAPTER.launch(launch_request)
    never = ADAPTER.launch(replace(launch_request, permission_mode="never"))
    bypass = ADAPTER.launch(replace(launch_request, permission_mode="dangerously-bypass-approvals-and-sandbox"))

    assert (flag(asking, "--ask-for-approval"), flag(asking, "--sandbox")) == ("on-request", "workspace-write")
    assert flag(never, "--ask-for-approval") == "never"
    assert not any("dangerous" in word for word in asking.argv)
    assert "--dangerously-bypass-approvals-and-sandbox" in bypass.argv
    assert "--ask-for-approval" not in bypass.argv


def test_every_hook_runs_the_event_program_and_is_trusted_by_its_own_hash(launch_request: LaunchRequest) -> None:
    """The hash is the one that `hooks/list` of the CLI's app server names for this hook (version 0.171.0)."""
    launch = ADAPTER.launch(replace(launch_request, event_command=("/bin/true", "a")))
    said = overridden(launch)
    handler = {"type": "command", "command": "/bin/true a", "timeout": 10, "async": False}

    for name in ("SessionStart", "UserPromptSubmit"):
        assert said[f"hooks.{name}"] == [{"hooks": [handler]}]
    assert said["hooks.state"] == {
        "/<session-flags>/config.toml:session_start:0:0": {
            "trusted_hash": "sha256:dc74f748e0eea913d78902db35056438beb5bd96ae7250bbd01db3b568658d41"
        },
        "/<session-flags>/config.toml:user_prompt_submit:0:0": {
            "trusted_hash": "sha256:b410b96d86bf841c47a950a495390864fc7d0c9e3f5c9860c830d419ce4280d4"
        },
    }
    assert said["features.hooks"] is True
    assert not any("bypass-hook-trust" in word for word in launch.argv)


def test_the_words_of_the_event_command_survive_its_shell(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, event_command=("/a b/python", "$x", "'")))

    (group,) = overridden(launch)["hooks.SessionStart"]
    assert group["hooks"][0]["command"] == """'/a b/python' '$x' ''"'"''"""


def test_the_built_in_shell_is_taken_away_on_request(launch_request: LaunchRequest) -> None:
    without = overridden(ADAPTER.launch(replace(launch_request, provider_shell=False)))

    assert not {key for key in overridden(ADAPTER.launch(launch_request)) if "shell" in key}
    assert (without["features.shell_tool"], without["features.unified_exec"]) == (False, False)


def test_no_background_server_is_left_behind(launch_request: LaunchRequest) -> None:
    assert "--no-daemon" in ADAPTER.launch(launch_request).argv


@pytest.mark.contract("S7")
def test_a_conversation_is_resumed_by_its_id_and_a_new_one_has_none_yet(launch_request: LaunchRequest) -> None:
    first, again = ADAPTER.launch(launch_request), ADAPTER.launch(replace(launch_request, resume=True))

    assert (first.native_session_id, launch_request.native_session_id in first.argv) == (None, False)
    assert again.native_session_id == launch_request.native_session_id
    assert again.argv[1:3] == ("resume", launch_request.native_session_id)
    assert again.argv[3:] == first.argv[1:]


def test_a_model_is_named_only_when_one_was_chosen(launch_request: LaunchRequest) -> None:
    assert "--model" not in ADAPTER.launch(launch_request).argv
    assert flag(ADAPTER.launch(replace(launch_request, model="m-1")), "--model") == "m-1"


@pytest.mark.contract("A2")
def test_an_endpoints_key_stands_in_the_environment_only(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, endpoint=ModelEndpoint("http://127.0.0.1:7", "sk-0123456789")))
    said = overridden(launch)
    provider = said[f"model_providers.{said['model_provider']}"]

    assert provider["base_url"] == "http://127.0.0.1:7/v1"
    assert launch.environment[provider["env_key"]] == "sk-0123456789"
    assert "sk-0123456789" not in " ".join(launch.argv) + repr(launch)


def test_the_providers_own_model_needs_no_endpoint(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, endpoint=None))

    assert launch.environment == {}
    assert not {key for key in overridden(launch) if "model" in key}


@pytest.mark.contract("A4")
def test_no_file_is_written_and_what_the_cli_writes_goes_to_a_profile(launch_request: LaunchRequest) -> None:
    for request in (launch_request, replace(launch_request, home_is_ours=True, trust=True)):
        launch = ADAPTER.launch(request)
        assert launch.files == ()
        assert flag(launch, "--profile") == "mcp-agent"


@pytest.mark.contract("A5")
def test_a_directory_is_trusted_only_with_consent(launch_request: LaunchRequest) -> None:
    trusting = overridden(ADAPTER.launch(replace(launch_request, trust=True)))

    assert "projects" not in overridden(ADAPTER.launch(launch_request))
    assert trusting["projects"] == {"/srv/project": {"trust_level": "trusted"}}


@pytest.mark.contract("S4")
def test_its_start_may_be_silent_for_ten_minutes_and_take_ninety() -> None:
    assert ADAPTER.limits.prompt_ready_inactivity == timedelta(minutes=10)
    assert ADAPTER.limits.prompt_ready_absolute == timedelta(minutes=90)


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("codex-cli 0.171.0\n", "0.171.0"),
        ("WARNING: no aliases\ncodex-cli 1.0.0-alpha.3", "1.0.0-alpha.3"),
        ("0.171.0", None),
        ("", None),
    ],
)
def test_the_version_is_found_in_what_the_program_prints(output: str, version: str | None) -> None:
    assert ADAPTER.parse_version(output) == version


def test_the_transcript_is_found_by_its_id_alone() -> None:
    assert ADAPTER.transcript_glob("1cf6") == ".codex/sessions/*/*/*/rollout-*-1cf6.jsonl"


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("plain", "plain"),
        ("/status", " /status"),
        ("!ls", " !ls"),
        ("\n/status", "\n/status"),
        ("see @src/x", "see @src/x "),
        ("$skill", "$skill "),
        ("@a b", "@a b"),
        ("mail a@b", "mail a@b"),
        ("# title", "# title"),
        ("- dash", "- dash"),
        ("quit", "quit"),
        ("ends \\", "ends \\"),
    ],
)
def test_a_text_is_placed_so_that_it_stays_a_prompt(text: str, placed: str) -> None:
    assert ADAPTER.guard(text) == placed


def test_a_slash_begins_a_command() -> None:
    assert (ADAPTER.is_command("/compact"), ADAPTER.is_command("compact")) == (True, False)
