"""A prompt whose answer is lost on its way back: what its sender is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest

from mcp_agent.cli.one_turn import Wait, one_turn
from mcp_agent.cli.submitting import submit
from mcp_agent.errors import RemoteError, ServerUnreachable, Unconfirmed
from mcp_agent.server.client import Client, Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.server.conftest import Server

pytestmark = pytest.mark.contract("I4", "S9")


def patience() -> Wait:
    return Wait(timedelta(seconds=60), lambda _: None, "{what}")


@dataclass(slots=True)
class Losing(Client):
    """A client whose sends are lost: before the server has them, or with its answer."""

    arrives: bool = True
    asked: bool = True

    def post(self, path: str, body: Mapping[str, object] | None = None, *, waits: bool = False) -> Json:
        if self.arrives:
            Client.post(self, path, body, waits=waits)
        raise ServerUnreachable(self.state.server_socket, "lost", asked=self.asked)


def losing(server: Server, *, arrives: bool = True, asked: bool = True) -> Losing:
    state = server.state
    return Losing(state, state.read_owner_token(), arrives=arrives, asked=asked)


def test_a_lost_answer_is_asked_for_by_the_id_that_the_sender_chose(server: Server) -> None:
    session = server.start_session()
    sent = submit(losing(server), session, {"text": "hello"})
    assert sent["outcome"] == "delivered"
    (message,) = cast("list[Json]", server.client.get(f"/sessions/{session}/messages")["messages"])
    assert (message["id"], message["turn_id"]) == (sent["message_id"], sent["turn_id"])
    assert one_turn(losing(server), session, "again", patience())["final_text"] == "ECHO: again"


def test_a_prompt_that_nobody_has_on_record_is_unconfirmed(server: Server) -> None:
    session = server.start_session()
    sent = submit(losing(server, arrives=False), session, {"text": "hello"})
    assert (sent["outcome"], sent["turn_id"]) == ("unconfirmed", None)
    with pytest.raises(Unconfirmed, match=f"lost before it answered.*`mcp-agent session messages {session}`"):
        one_turn(losing(server, arrives=False), session, "hello", patience())


def test_a_server_that_was_not_reached_has_no_prompt(server: Server) -> None:
    with pytest.raises(ServerUnreachable):
        submit(losing(server, arrives=False, asked=False), "s-0000000000", {"text": "hello"})


def test_a_message_id_is_well_formed_and_used_once(server: Server) -> None:
    session = server.start_session()
    path = f"/sessions/{session}/send"
    body = {"text": "hello", "mode": "queue", "message_id": "m-0123456789"}
    assert server.client.post(path, body, waits=True)["message_id"] == "m-0123456789"
    with pytest.raises(RemoteError, match="was used before; nothing was sent"):
        server.client.post(path, {**body, "mode": "now"}, waits=True)
    with pytest.raises(RemoteError, match="not valid"):
        server.client.post(path, {**body, "message_id": "m-../x"}, waits=True)
