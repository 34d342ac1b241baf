"""A real agent has another real agent work for it, and is told of the result once, whatever dies meanwhile."""

import json
import subprocess
import time
from collections.abc import Callable
from secrets import token_hex
from typing import cast

import pytest

from e2e.conftest import Model
from e2e.place import KEY, Place
from e2e.test_crash import kill_server
from e2e.test_recovery import assert_nothing_left, show, turns
from mcp_agent.scenarios.prompts import AGENT_TOOL, SHELL_TOOL, delegate, run_silent_sleep, silent_sleep_command
from mcp_agent.server.client import Client
from mcp_agent.state import StateDirectory

WITHIN_SECONDS = 180
MODEL = "scripted-1"
"""None that a CLI knows more of than its name."""

pytestmark = [pytest.mark.real_cli, pytest.mark.contract("E1", "E6")]


def eventually(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.2)


def execution(place: Place, execution_id: str) -> dict[str, object]:
    with Client.connect(StateDirectory(place.state), environ=place.environment) as client:
        return client.get(f"/executions/{execution_id}")


def calls(place: Place, session: object) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", show(place, str(session))["calls"])


@pytest.mark.parametrize(
    ("parent", "child", "seconds"),
    [
        pytest.param("claude-code", "codex-cli", 20, id="Codex below Claude Code"),
        pytest.param("codex-cli", "claude-code", 5, id="Claude Code below Codex", marks=pytest.mark.long),
    ],
)
def test_a_real_parent_is_told_once_of_a_real_childs_result_although_the_server_was_killed(
    onboarded: Place, model: Model, parent: str, child: str, seconds: int
) -> None:
    place, token = onboarded, token_hex(4)
    configuration = place.root / "home/.config/mcp-agent/config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f'[agents.worker]\nprovider = "{child}"\nmodel = "{MODEL}"\n', encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", place.work], check=True)
    gateway = ("--model-endpoint", model.url, "--model-key-variable", "LOOPBACK_KEY")
    tools = ("--allow-tool", AGENT_TOOL, "--allow-tool", SHELL_TOOL)
    options = ("-p", parent, "--model", MODEL, "--trust", *tools, *gateway)
    started = place.run("session", "start", *options, LOOPBACK_KEY=KEY)
    assert started.status == 0, started.err
    session = started.out.strip()

    asked = place.run("session", "ask", session, delegate("worker", run_silent_sleep(seconds, token, patiently=True)))
    assert asked.out.startswith("DELEGATED x-"), asked.out + asked.err
    execution_id = asked.out.split()[1]
    eventually(lambda: execution(place, execution_id)["session_id"])
    child_session = execution(place, execution_id)["session_id"]
    eventually(lambda: calls(place, child_session))
    kill_server(place)

    eventually(lambda: execution(place, execution_id)["delivery"] == "sent")
    ended = execution(place, execution_id)
    assert ended["state"] == "succeeded", ended
    assert f"SLEPT_{token}" in str(ended["final_text"])
    eventually(lambda: len(turns(show(place, session))) == 2 and turns(show(place, session))[1]["final_text"])
    told = [str(turn["prompt"]) for turn in turns(show(place, session))]
    assert [f"[execution {execution_id} of agent worker has ended: succeeded]" in text for text in told] == [
        False,
        True,
    ]
    commands = [call for call in calls(place, child_session) if call["tool"] == SHELL_TOOL]
    assert [json.dumps(call["arguments"]) for call in commands] == [
        json.dumps({"command": silent_sleep_command(seconds, token)})
    ]
    assert_nothing_left(place)
