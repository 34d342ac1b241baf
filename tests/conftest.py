"""What every test starts from: an environment of its own, and short paths for sockets."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

INHERITED = ("TMUX", "TMUX_PANE", "TMUX_TMPDIR", "CODING_AGENT_MCP_TOOL_TIMEOUT", "TOOL_EXECUTION_TIMEOUT")

settings.register_profile("quick", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile("quick")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of tests marked `anyio`; tests in virtual time ask for trio themselves."""
    return "asyncio"


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A directory with a path short enough for sockets, removed afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="ma-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, short_tmp: Path) -> None:
    """Nothing of the caller's reaches a test: no tmux around it, no configuration, no state."""
    for name in INHERITED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MCP_AGENT_HOME", str(short_tmp / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(short_tmp / "config"))
