"""How Pi is started: flags, environment, and the extension that brings everything else."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from adapters.pi_cli import ADAPTER
from mcp_agent.adapter import Launch, LaunchRequest
from mcp_agent.timeouts import PROGRESS_INTERVAL, Policy, ToolClass, progress_interval

SESSION = re.compile(r"\Aconst SESSION = (\{.*?\n\});\n", re.DOTALL)


def flag(launch: Launch, name: str) -> str:
    """The value after a flag that stands there once."""
    assert list(launch.argv).count(name) == 1
    return launch.argv[list(launch.argv).index(name) + 1]


def session_of(launch: Launch) -> Mapping[str, object]:
    """What is particular to the session in its extension."""
    (file,) = launch.files
    found = SESSION.match(file.text)
    assert found is not None
    return cast("Mapping[str, object]", json.loads(found[1]))


@pytest.mark.contract("T5")
def test_no_mcp_timeout_is_written_anywhere(launch_request: LaunchRequest) -> None:
    for request in (launch_request, replace(launch_request, home_is_ours=True, resume=True, endpoint=None)):
        launch = ADAPTER.launch(request)
        written = "\n".join([*launch.argv, *launch.environment, *(file.text for file in launch.files)])

        assert ADAPTER.mcp_timeout(timedelta(minutes=90)) is None
        assert "timeout" not in written.lower()
        assert f"{timedelta(minutes=90).total_seconds():.0f}" not in written


@pytest.mark.contract("T5")
def test_progress_keeps_silent_calls_past_the_clis_own_ceiling() -> None:
    ceiling = ADAPTER.client_ceiling
    assert ceiling is not None
    assert (ceiling.limit, ceiling.progress_extends) == (timedelta(seconds=60), "verified")
    assert progress_interval(ceiling) == PROGRESS_INTERVAL
    assert ceiling.limit > PROGRESS_INTERVAL

    wait = Policy().tool_wait(ToolClass.LONG_RUNNING, ceiling=ceiling, cli_has_limit=False)
    assert wait == timedelta(minutes=15)


@pytest.mark.contract("A4")
def test_nothing_but_an_extension_of_ours_is_written(launch_request: LaunchRequest) -> None:
    for ours in (False, True):
        launch = ADAPTER.launch(replace(launch_request, home_is_ours=ours, trust=True))

        assert [str(file.path) for file in launch.files] == ["/state/sessions/s-1/mcp-agent.js"]
        assert flag(launch, "--extension") == "/state/sessions/s-1/mcp-agent.js"
        assert "PI_CODING_AGENT_DIR" not in launch.environment


def test_the_bridge_is_offered_to_the_model_directly(launch_request: LaunchRequest) -> None:
    program, *arguments = launch_request.bridge_command
    session = session_of(ADAPTER.launch(launch_request))

    assert session["server"] == {"command": program, "args": arguments, "exposure": "direct"}
    assert session["events"] == list(launch_request.event_command)


@pytest.mark.contract("A2")
def test_an_endpoint_is_a_provider_whose_key_stands_in_the_environment_only(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, model="m-1"))
    provider = cast("Mapping[str, object]", session_of(launch)["provider"])

    assert launch_request.endpoint is not None
    key = launch_request.endpoint.api_key
    assert (provider["baseUrl"], provider["apiKey"]) == ("http://127.0.0.1:1/v1", "$API_BRIDGE_MODEL_KEY")
    assert launch.environment["API_BRIDGE_MODEL_KEY"] == key
    assert not any(key in file.text for file in launch.files)
    assert flag(launch, "--model") == "gateway/m-1"
    assert flag(ADAPTER.launch(launch_request), "--model") == "gateway/default"


def test_the_users_own_models_need_no_endpoint(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, endpoint=None))

    assert session_of(launch)["provider"] is None
    assert launch.environment == {"PI_SKIP_VERSION_CHECK": "1"}
    assert "--model" not in launch.argv
    assert flag(ADAPTER.launch(replace(launch_request, endpoint=None, model="sonnet")), "--model") == "sonnet"


@pytest.mark.contract("A5")
def test_a_directory_is_trusted_for_one_run_and_only_with_consent(launch_request: LaunchRequest) -> None:
    assert "--approve" not in ADAPTER.launch(launch_request).argv
    assert "--no-approve" not in ADAPTER.launch(launch_request).argv
    assert "--approve" in ADAPTER.launch(replace(launch_request, trust=True)).argv


@pytest.mark.contract("A5")
def test_it_has_no_permission_modes(launch_request: LaunchRequest) -> None:
    assert list(ADAPTER.permission_modes) == []
    assert ADAPTER.launch(replace(launch_request, allow_tools=frozenset({"a"}))) == ADAPTER.launch(launch_request)


def test_the_built_in_shells_are_taken_away_on_request(launch_request: LaunchRequest) -> None:
    assert "--exclude-tools" not in ADAPTER.launch(launch_request).argv
    assert flag(ADAPTER.launch(replace(launch_request, provider_shell=False)), "--exclude-tools") == "bash,powershell"


@pytest.mark.contract("S7")
def test_a_resumed_conversation_is_opened_and_never_begun(launch_request: LaunchRequest) -> None:
    first, again = ADAPTER.launch(launch_request), ADAPTER.launch(replace(launch_request, resume=True))

    assert flag(first, "--session-id") == flag(again, "--session") == launch_request.native_session_id
    assert ("--session" in first.argv, "--session-id" in again.argv) == (False, False)


def test_a_home_of_ours_keeps_temporary_files(launch_request: LaunchRequest) -> None:
    launch = ADAPTER.launch(replace(launch_request, home_is_ours=True))

    assert launch.environment["TMPDIR"] == "/home/somebody/tmp"
    assert "TMPDIR" not in ADAPTER.launch(launch_request).environment


@pytest.mark.parametrize(
    ("output", "version"), [("1.6.0\n", "1.6.0"), ("a warning\n1.7.0-rc.1", "1.7.0-rc.1"), ("v1.6.0", None), ("", None)]
)
def test_the_version_is_found_in_what_the_program_prints(output: str, version: str | None) -> None:
    assert ADAPTER.parse_version(output) == version


def test_the_transcript_is_found_by_its_id_alone() -> None:
    assert ADAPTER.transcript_glob("1cf6") == ".pi/agent/sessions/*/*_1cf6.jsonl"
