"""What a session's CLI, its shell commands and its files may see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcp_agent.adapter import ModelEndpoint
from mcp_agent.sessions.environment import SESSION_MARK

if TYPE_CHECKING:
    from tests.sessions.managed.conftest import House

pytestmark = pytest.mark.anyio


@pytest.mark.contract("A3")
async def test_only_allowed_variables_reach_the_cli_and_fewer_its_shell_commands(house: House) -> None:
    caller = {
        "AWS_SECRET": "one",
        "PLAIN_API_KEY": "of-the-key",
        "PLAIN_REGION": "north",
        "LC_ALL": "C.UTF-8",
        "TMUX": "x",
    }
    async with house.server() as manager:
        session = await manager.start(house.options(environment=caller))
        seen = house.terminal.pane(session.pane).environment

        common = {"PATH": os.environ["PATH"], "HOME": str(house.work), "LC_ALL": "C.UTF-8"}
        assert session.record.shell_environment == common
        assert seen == {**common, "PLAIN_API_KEY": "of-the-key", "PLAIN_REGION": "north", SESSION_MARK: session.id}
        record = (house.state.session(session.id) / "session.json").read_text()
        assert "of-the-key" not in record


@pytest.mark.contract("A3")
async def test_an_endpoint_replaces_the_callers_credentials(house: House) -> None:
    endpoint = ModelEndpoint("http://127.0.0.1:1", "scripted-key")
    async with house.server() as manager:
        caller = {"PLAIN_API_KEY": "real", "PLAIN_TOKEN": "real", "PLAIN_REGION": "north"}
        session = await manager.start(house.options(environment=caller, endpoint=endpoint))
        seen = house.terminal.pane(session.pane).environment

        assert (seen["PLAIN_API_KEY"], seen["PLAIN_REGION"]) == ("scripted-key", "north")
        assert "real" not in seen.values()


@pytest.mark.contract("A3")
async def test_a_home_of_its_own_replaces_the_users_and_what_points_there(house: House, tmp_path: Path) -> None:
    home = tmp_path / "own"
    async with house.server() as manager:
        session = await manager.start(house.options(environment={"XDG_CONFIG_HOME": "/users"}, home=home))
        seen = house.terminal.pane(session.pane).environment

        assert (seen["HOME"], session.record.home) == (str(home), home)
        assert "XDG_CONFIG_HOME" not in seen


@pytest.mark.contract("A2", "A3")
async def test_the_token_stands_in_the_bridges_file_alone(house: House) -> None:
    async with house.server() as manager:
        session = await manager.start(house.options())
        pane = house.terminal.pane(session.pane)
        holders = [
            path.name
            for path in house.state.session(session.id).rglob("*")
            if path.is_file() and session.token in path.read_text()
        ]

        assert holders == ["bridge.json"]
        assert session.token not in f"{pane.argv} {pane.environment} {pane.tags} {session!r}"
