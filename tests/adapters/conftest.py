"""Screens that real CLIs drew, as the adapters get them, and a launch to vary."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_agent.adapter import LaunchRequest, ModelEndpoint, Screen
from mcp_agent.tmux.screen import read_screen

SCREENS = Path(__file__).parent / "screens"

ReadCapture = Callable[[str, str], Screen]


@pytest.fixture
def capture() -> ReadCapture:
    """Reads one kept screen of a provider, without a title."""

    def read(provider: str, name: str) -> Screen:
        (path,) = (SCREENS / provider).glob(f"{name}.*")
        lines, dim_lines = read_screen(path.read_text(encoding="utf-8").split("\n"))
        return Screen(lines, dim_lines=dim_lines)

    return read


@pytest.fixture
def launch_request() -> LaunchRequest:
    """A first launch in the user's own home: nothing was agreed to, and the model is behind a gateway."""
    return LaunchRequest(
        session_id="s-1",
        executable=Path("/opt/cli/program"),
        working_directory=Path("/srv/project"),
        session_directory=Path("/state/sessions/s-1"),
        home=Path("/home/somebody"),
        home_is_ours=False,
        bridge_command=("/usr/bin/python3", "-I", "/lib/bridge.py", "/state/sessions/s-1/bridge.json"),
        event_command=("/usr/bin/python3", "-I", "/lib/event.py", "/state/sessions/s-1/bridge.json"),
        mcp_call=timedelta(minutes=90),
        native_session_id="2f7c6c0e-6a4e-4a1c-8f0e-0f4f7c9d5b11",
        resume=False,
        allow_tools=frozenset(),
        provider_shell=True,
        trust=False,
        endpoint=ModelEndpoint("http://127.0.0.1:1", "key-0f4f7c9d5b11-that-nobody-may-see"),
    )
