"""What a run of the chat scenario with the scripted agent needs."""

import sys
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_agent.scenarios.options import ChatOptions, Listener
from mcp_agent.scenarios.results import ProbeResult

BIN = Path(sys.executable).parent


@pytest.fixture
def environment(short_tmp: Path) -> dict[str, str]:
    return {"PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin", "HOME": str(short_tmp), "LANG": "C.UTF-8"}


@pytest.fixture
def options(short_tmp: Path, environment: dict[str, str]) -> ChatOptions:
    return ChatOptions("scripted", "scripted", environment, sleep=timedelta(seconds=1), parent=short_tmp)


@pytest.fixture
def probed() -> list[ProbeResult]:
    return []


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def listener(said: list[str], probed: list[ProbeResult]) -> Listener:
    return Listener(said.append, probed.append)
