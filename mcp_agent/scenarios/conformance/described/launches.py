"""The launches that the questions look at: every combination of what a launch depends on."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path

from mcp_agent.adapter import Adapter, Launch, LaunchRequest, ModelEndpoint
from mcp_agent.scenarios.prompts import SHELL_TOOL

KEY = "key-5b1f0c27-that-nobody-may-see"


def request_for(adapter: Adapter) -> LaunchRequest:
    """A first launch in the user's own home, behind a gateway, of a person who trusts the directory."""
    return LaunchRequest(
        session_id="s-1",
        executable=Path("/opt/cli") / adapter.executable,
        working_directory=Path("/srv/project"),
        session_directory=Path("/state/sessions/s-1"),
        home=Path("/home/somebody"),
        home_is_ours=False,
        bridge_command=("/usr/bin/python3", "-I", "/lib/bridge.py", "/state/sessions/s-1/bridge.json"),
        event_command=("/usr/bin/python3", "-I", "/lib/event.py", "/state/sessions/s-1/bridge.json"),
        mcp_call=timedelta(minutes=90),
        native_session_id="2f7c6c0e-6a4e-4a1c-8f0e-0f4f7c9d5b11",
        resume=False,
        allow_tools=frozenset({SHELL_TOOL}),
        provider_shell=False,
        trust=True,
        model="m-1",
        endpoint=ModelEndpoint("http://127.0.0.1:1", KEY),
    )


def launches(adapter: Adapter) -> Iterator[tuple[LaunchRequest, Launch]]:
    """Every combination of what a launch depends on."""
    for ours, resume, trust, endpoint in product((False, True), repeat=4):
        request = replace(request_for(adapter), home_is_ours=ours, resume=resume, trust=trust)
        request = request if endpoint else replace(request, endpoint=None, model=None, allow_tools=frozenset())
        yield request, adapter.launch(request)


def all_text(launch: Launch) -> str:
    """All that a launch hands to the CLI: words, variables, files."""
    environment = (f"{name}={value}" for name, value in launch.environment.items())
    return "\n".join([*launch.argv, *environment, *(file.text for file in launch.files)])
