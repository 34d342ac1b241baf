"""A project of somebody's, and sessions that need an addition to one of its files."""

from pathlib import Path

import pytest

from mcp_agent.adapter import SharedFileEdit
from mcp_agent.state import StateDirectory

ENTRY = {"command": "/usr/bin/python3", "args": ["-I", "x.py"]}


@pytest.fixture
def state(short_tmp: Path) -> StateDirectory:
    made = StateDirectory(short_tmp / "state", short_tmp)
    made.create()
    return made


@pytest.fixture
def file(short_tmp: Path) -> Path:
    """Where the shared file would be; neither it nor its directory is there."""
    (short_tmp / "work").mkdir()
    return short_tmp / "work/.tool/servers.json"


@pytest.fixture
def edit(file: Path) -> SharedFileEdit:
    return SharedFileEdit(file, ("servers", "ours"), ENTRY)
