"""The deadline of a prompt, which its caller need not live to see."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, cast

import pytest

from mcp_agent.errors import RemoteError
from tests.server.conftest import eventually

if TYPE_CHECKING:
    from tests.server.conftest import Server

pytestmark = pytest.mark.contract("E4")

LONG_WORK = "run exactly this command: `sleep 600`"
SOON = 2.0
Json = dict[str, Any]


def send(server: Server, session: str, text: str, *, due_in: float | None, mode: str = "turn") -> Json:
    body = {"text": text, "mode": mode, "deadline_at": None if due_in is None else time.time() + due_in}
    return server.client.post(f"/sessions/{session}/send", body, waits=True)


def turns(server: Server, session: str) -> list[Json]:
    return cast("list[Json]", server.client.get(f"/sessions/{session}/turns")["turns"])


def ends(server: Server, session: str) -> list[tuple[str | None, str | None]]:
    return [(turn["outcome"], turn["reason"]) for turn in turns(server, session)]


def begin_work(server: Server, *, due_in: float | None) -> str:
    """A session whose turn runs a command, and goes on until it is interrupted."""
    session = server.start_session(allow_tools=["execute_shell_command"])
    send(server, session, LONG_WORK, due_in=due_in)
    return session


def begin_thinking(server: Server, *, due_in: float) -> str:
    """A session whose turn asks nothing of the server, and goes on until it is interrupted."""
    quirks = {"SCRIPTED_AGENT_QUIRKS": json.dumps({"thinks_until": str(server.work / "never")})}
    session = server.start_session(environment={"PATH": "/usr/bin:/bin", "HOME": str(server.work), **quirks})
    send(server, session, "think", due_in=due_in)
    return session


def test_a_turn_is_interrupted_at_its_deadline_and_its_session_goes_on(shared_server: Server) -> None:
    session = begin_work(shared_server, due_in=SOON)
    eventually(lambda: ends(shared_server, session) == [("interrupted", "deadline")])
    send(shared_server, session, "hello", due_in=60)
    eventually(lambda: ends(shared_server, session)[1:] == [("completed", None)])


def test_a_prompt_that_waits_at_its_deadline_is_withdrawn_and_nobody_is_interrupted(shared_server: Server) -> None:
    session = begin_work(shared_server, due_in=None)
    sent = send(shared_server, session, "behind it", due_in=0.5)
    path = f"/sessions/{session}/messages/{sent['message_id']}"
    eventually(lambda: shared_server.client.get(path)["state"] == "withdrawn")
    message = shared_server.client.get(path)
    assert (message["reason"], message["waits_for"]) == ("its caller's deadline passed", "a turn runs")
    assert ends(shared_server, session) == [(None, None)]


def test_what_was_sent_into_a_turn_does_not_bring_its_deadline_there(shared_server: Server) -> None:
    session = begin_work(shared_server, due_in=None)
    into = send(shared_server, session, "more", due_in=0.5, mode="now")
    behind = send(shared_server, session, "behind it", due_in=1.0)
    path = f"/sessions/{session}/messages/{behind['message_id']}"
    eventually(lambda: shared_server.client.get(path)["state"] == "withdrawn")
    assert into["turn_id"] == turns(shared_server, session)[0]["id"]
    assert ends(shared_server, session) == [(None, None)]


def test_a_deadline_that_passes_while_no_server_lives_is_kept_by_the_next_one(server: Server) -> None:
    session = begin_thinking(server, due_in=SOON)
    behind = send(server, session, "behind it", due_in=SOON)
    due_at = time.time() + SOON
    server.crash()
    eventually(lambda: time.time() > due_at)
    server.start_again()
    eventually(lambda: ends(server, session)[:1] == [("interrupted", "deadline")])
    message = server.client.get(f"/sessions/{session}/messages/{behind['message_id']}")
    assert message["state"] == "withdrawn"


def test_a_deadline_that_is_to_come_is_known_to_the_next_server(server: Server) -> None:
    session = begin_thinking(server, due_in=8)
    server.crash()
    server.start_again()
    eventually(lambda: ends(server, session) == [("interrupted", "deadline")])


def test_a_deadline_that_has_passed_is_refused_with_nothing_sent(shared_server: Server) -> None:
    session = shared_server.start_session()
    for due_in in (-1.0, -1e12):
        with pytest.raises(RemoteError, match="deadline") as caught:
            send(shared_server, session, "hello", due_in=due_in)
        assert caught.value.kind == "BadRequest"
    assert turns(shared_server, session) == []
