"""A store that cannot be opened refuses the start; one that takes nothing meanwhile ends no session and no turn."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import RemoteError, ServerStartFailed
from mcp_agent.server.client import Client
from tests.server.conftest import BOUND_SECONDS

if TYPE_CHECKING:
    from mcp_agent.state import StateDirectory
    from tests.server.conftest import Server

pytestmark = pytest.mark.contract("S9")


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_store_is_left_alone_and_the_start_says_what_to_do(state: StateDirectory, damage: bytes) -> None:
    state.create()
    state.session_store.write_bytes(damage)
    with pytest.raises(ServerStartFailed, match=r"sessions.sqlite: .*left as it is; move it away"):
        Client.connect(state)

    assert state.session_store.read_bytes() == damage


def test_a_store_whose_pages_are_damaged_is_left_alone_and_the_start_says_so(server: Server, session: str) -> None:
    server.client.post(f"/sessions/{session}/send", {"text": "hello"}, waits=True)
    server.client.post("/server/stop")
    server.client.wait_until_gone()
    with closing(sqlite3.connect(server.state.session_store)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    whole = server.state.session_store.read_bytes()
    server.state.session_store.write_bytes(whole[:size] + b"\xff" * (len(whole) - size))

    with pytest.raises(ServerStartFailed, match=r"the store of sessions .*sessions.sqlite: it is damaged"):
        Client.connect(server.state)
    server.state.session_store.write_bytes(whole)
    server.start_again()


def test_a_store_that_another_process_holds_ends_no_turn_and_gets_it_afterwards(server: Server, session: str) -> None:
    with closing(sqlite3.connect(server.state.session_store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        turn = server.client.post(f"/sessions/{session}/send", {"text": "hello"}, waits=True)["turn_id"]
        path = f"/sessions/{session}/turns/{turn}"
        assert server.client.wait(f"{path}?wait_seconds={BOUND_SECONDS}")["outcome"] == "completed"
        other.execute("ROLLBACK")
    server.client.post("/server/stop")
    server.client.wait_until_gone()
    server.start_again()

    assert server.client.get(path)["final_text"] == "ECHO: hello"


def test_a_store_that_cannot_be_read_is_said_to_be(server: Server, session: str) -> None:
    with closing(sqlite3.connect(server.state.session_store, isolation_level=None)) as other:
        other.execute("DROP TABLE floors")
    with pytest.raises(RemoteError) as refused:
        server.client.get(f"/sessions/{session}/events")

    assert (refused.value.kind, "the store of sessions" in str(refused.value)) == ("StoreUnusable", True)
    assert server.client.get(f"/sessions/{session}")["state"] == "ready"
