"""What Cursor's CLI is started with, and what its project is told for as long as a session runs."""

import json
from dataclasses import replace

import pytest

from adapters.cursor_cli import ADAPTER
from mcp_agent.adapter import LaunchRequest

CREDENTIAL = "CURSOR_API_KEY"


def values(request: LaunchRequest) -> dict[tuple[str, ...], list[object]]:
    """What goes into which place of which file."""
    found: dict[tuple[str, ...], list[object]] = {}
    for edit in ADAPTER.launch(request).shared:
        found.setdefault((edit.path.name, *edit.keys), []).append(edit.value)
    return found


@pytest.mark.contract("S7")
@pytest.mark.parametrize("resume", [False, True])
def test_a_conversation_of_our_own_id_is_begun_and_gone_on_with(launch_request: LaunchRequest, *, resume: bool) -> None:
    launch = ADAPTER.launch(replace(launch_request, resume=resume))

    assert launch.argv[:5] == (
        "/opt/cli/program",
        "--workspace",
        "/srv/project",
        "--resume",
        launch_request.native_session_id,
    )
    assert launch.native_session_id == launch_request.native_session_id


@pytest.mark.contract("A2", "A4")
def test_nothing_in_a_shared_file_is_of_one_session(launch_request: LaunchRequest) -> None:
    request = replace(launch_request, allow_tools=frozenset({"get_tool_call"}), trust=True)
    told = json.dumps([(str(edit.path), edit.value) for edit in ADAPTER.launch(request).shared])

    assert not any(word in told for word in ("s-1", "bridge.json", request.native_session_id, "key-"))
    other = replace(request, session_id="s-2", native_session_id="n-2")
    assert ADAPTER.launch(other).shared == ADAPTER.launch(request).shared


@pytest.mark.contract("A4", "A5")
@pytest.mark.parametrize(("ours", "trust"), [(True, False), (False, True), (False, False)])
def test_trust_is_written_only_into_a_home_of_ours(launch_request: LaunchRequest, *, ours: bool, trust: bool) -> None:
    assert ADAPTER.launch(replace(launch_request, home_is_ours=ours, trust=trust)).files == ()

    (file,) = ADAPTER.launch(replace(launch_request, home_is_ours=True, trust=True)).files
    assert str(file.path) == "/home/somebody/.cursor/projects/srv-project/.workspace-trusted"
    assert json.loads(file.text) == {"workspacePath": "/srv/project"}


@pytest.mark.contract("T5")
def test_the_projects_servers_get_the_bridge_without_any_limit(launch_request: LaunchRequest) -> None:
    entry = {"type": "stdio", "command": "/usr/bin/python3", "args": ["-I", "/lib/bridge.py"]}

    assert values(launch_request)["mcp.json", "mcpServers", "api-bridge"] == [entry]
    assert "timeout" not in repr(ADAPTER.launch(launch_request)).lower()
    assert ADAPTER.launch(launch_request).before == (("/opt/cli/program", "mcp", "enable", "api-bridge"),)


@pytest.mark.contract("S3")
def test_each_hook_hands_its_event_to_the_session_above_it(launch_request: LaunchRequest) -> None:
    hooks = {
        place[-1]: value for place, value in values(launch_request).items() if place[:2] == ("hooks.json", "hooks")
    }

    assert hooks.keys() == {"sessionStart", "beforeSubmitPrompt", "afterAgentResponse", "stop"}
    assert all(value == [{"command": "/usr/bin/python3 -I /lib/event.py"}] for value in hooks.values())


@pytest.mark.contract("A5")
def test_only_tools_that_were_allowed_run_without_a_question(launch_request: LaunchRequest) -> None:
    assert ("cli.json", "permissions", "allow") not in values(launch_request)

    allowed = values(replace(launch_request, allow_tools=frozenset({"b", "a"}), provider_shell=False))
    assert allowed["cli.json", "permissions", "allow"] == [[], "Mcp(api-bridge:a)", "Mcp(api-bridge:b)"]
    assert allowed["cli.json", "permissions", "deny"] == [[], "Shell(*)"]


@pytest.mark.contract("A5")
@pytest.mark.parametrize(
    ("mode", "flags"), [(None, []), ("plan", ["--mode", "plan"]), ("ask", ["--mode", "ask"]), ("force", ["--force"])]
)
def test_a_mode_is_what_a_person_named(launch_request: LaunchRequest, mode: str | None, flags: list[str]) -> None:
    launch = ADAPTER.launch(replace(launch_request, permission_mode=mode, model=None))

    assert list(launch.argv[5:]) == flags


def test_only_the_emulator_is_told_of_another_model_server(launch_request: LaunchRequest) -> None:
    assert CREDENTIAL not in ADAPTER.launch(launch_request).environment
    assert ADAPTER.credential_names == (CREDENTIAL,)


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("2026.07.23-e383d2b\n", "2026.07.23-e383d2b"),
        ("v2026.06.15-03-48-54-da23e37", "2026.06.15-03-48-54-da23e37"),
        ("2026.11.30-emulator\n", "2026.11.30-emulator"),
        ("agent 1.0", None),
    ],
)
def test_a_version_is_a_date_and_a_build(output: str, version: str | None) -> None:
    assert ADAPTER.parse_version(output) == version


def test_what_nobody_saw_is_said() -> None:
    assert ADAPTER.unverified is not None
    assert "emulator" in ADAPTER.unverified


@pytest.mark.contract("I3")
@pytest.mark.parametrize(
    ("text", "placed"),
    [
        ("/help me", " /help me"),
        ("!ls", " !ls"),
        ("look at @file", "look at @file "),
        ("mail me@home", "mail me@home"),
        ("a / b", "a / b"),
    ],
)
def test_a_prompt_stays_a_prompt(text: str, placed: str) -> None:
    assert ADAPTER.guard(text) == placed
