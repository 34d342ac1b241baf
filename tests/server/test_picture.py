"""A picture of a pane: its colours and its size, and nothing of the session changes by it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from mcp_agent.errors import RemoteError

if TYPE_CHECKING:
    from tests.server.conftest import Server


def start(server: Server, **body: object) -> str:
    asked = {"provider": "scripted", "working_directory": str(server.work), "trust": True, **body}
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(server.work)}
    return str(server.client.post("/sessions", {"environment": environment, **asked}, waits=True)["id"])


def picture(server: Server, session: str) -> dict[str, Any]:
    return server.client.get(f"/sessions/{session}/picture")


def test_a_picture_is_the_screen_with_styles_and_its_size(server: Server) -> None:
    session = start(server, columns=100, rows=30)
    taken = picture(server, session)
    assert (taken["id"], taken["columns"], taken["rows"]) == (session, 100, 30)
    plain = [re.sub("\x1b\\[[0-9;:]*m", "", line).rstrip() for line in taken["lines"]]
    assert plain == server.client.get(f"/sessions/{session}/screen")["lines"]
    assert not re.search("\x1b(?!\\[[0-9;:]*m)", "\n".join(taken["lines"]))


def test_a_picture_has_the_default_size_and_changes_nothing(server: Server) -> None:
    session = start(server)
    before = server.client.get(f"/sessions/{session}/events")["newest"]
    pictures = [picture(server, session) for _ in range(3)]
    assert {(each["columns"], each["rows"]) for each in pictures} == {(120, 36)}
    assert server.client.get(f"/sessions/{session}/events")["newest"] == before


def test_there_is_no_picture_of_a_session_that_is_over(server: Server) -> None:
    session = start(server)
    server.client.post(f"/sessions/{session}/stop", waits=True)
    with pytest.raises(RemoteError) as refused:
        picture(server, session)
    assert refused.value.kind == "PaneGone"


@pytest.mark.contract("A2")
def test_a_sessions_own_token_opens_no_picture(server: Server) -> None:
    session = start(server)
    answer = server.ask("GET", f"/sessions/{session}/picture", token=server.token_of(session))
    assert answer.status_code == 403
