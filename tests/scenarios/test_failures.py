"""What a failure says of the server's log, which is removed with the run's own directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import Internal, ServerError, ServerStartFailed
from mcp_agent.scenarios.failures import connected, with_log
from mcp_agent.scenarios.workspace import Workspace
from mcp_agent.server.client import Client

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path / "mcp-agent-e2e-abc")
    space.state.root.mkdir(parents=True)
    space.state.log.write_text("one\n\ntwo\nthree\nTypeError: four\n")
    return space


def test_a_reason_that_points_at_the_log_ends_with_its_last_lines_and_says_what_keeps_it(space: Workspace) -> None:
    reason = with_log(str(Internal(space.state.log)), space, keep=False)
    assert reason.startswith("something went wrong in mcp-agent itself")
    assert reason.endswith("(removed with this run; --keep keeps it); its last lines: two / three / TypeError: four")


def test_a_log_that_is_kept_is_named_by_the_place_of_its_copy(space: Workspace) -> None:
    reason = with_log(str(Internal(space.state.log)), space, keep=True)
    copy = space.root.parent / "mcp-agent-server-abc.log"
    assert str(copy) in reason
    assert str(space.state.log) not in reason
    assert copy.read_bytes() == space.state.log.read_bytes()


def test_a_log_that_was_never_written_is_not_quoted(space: Workspace) -> None:
    space.state.log.unlink()
    for keep in (False, True):
        reason = with_log("its screen is in the server's log", space, keep=keep)
        assert reason == "its screen is in the server's log (removed with this run; --keep keeps it)"


def test_any_other_reason_stays_as_it_is(space: Workspace) -> None:
    assert with_log("the turn failed", space, keep=False) == "the turn failed"


@pytest.mark.anyio
async def test_a_server_that_does_not_start_is_told_with_the_end_of_its_log(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> Client:
        raise ServerStartFailed("it ended with status 1", space.state.log)

    monkeypatch.setattr(Client, "connect", fails)
    with pytest.raises(ServerError, match=r"status 1; its log: .* --keep keeps it\); .* TypeError: four$"):
        await connected(space, {}, keep=False)
