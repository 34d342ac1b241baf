"""Messages are on disk before anybody hears of them, and change their state one step at a time."""

import sqlite3
import threading
from collections.abc import Callable

import pytest

from mcp_agent.errors import StoreUnusable
from mcp_agent.sessions.store.store import SessionStore

pytestmark = pytest.mark.contract("I5")

Open = Callable[[], SessionStore]


def test_a_message_is_there_for_the_next_server(store: SessionStore, open_store: Open) -> None:
    added = store.add_message("s-1", "m-1", "queued", text="hello")

    assert open_store().messages("s-1") == [added]
    assert (added.state, added.facts) == ("queued", {"text": "hello"})


def test_messages_are_told_in_their_order_and_by_their_state(store: SessionStore) -> None:
    for number in range(5):
        store.add_message("s-1" if number != 3 else "s-2", f"m-{number}", "queued")
    store.set_message("m-1", "claimed", expected="queued")

    assert [message.id for message in store.messages("s-1")] == ["m-0", "m-1", "m-2", "m-4"]
    assert [message.id for message in store.messages("s-1", states={"queued"})] == ["m-0", "m-2", "m-4"]
    assert [message.id for message in store.messages(states={"claimed"})] == ["m-1"]
    assert len(store.messages()) == 5


def test_a_state_changes_only_from_an_expected_one_and_keeps_what_was_known(store: SessionStore) -> None:
    store.add_message("s-1", "m-1", "queued", text="hello")
    assert store.set_message("m-1", "claimed", expected={"queued"}, claimed_at=7)
    assert not store.set_message("m-1", "claimed", expected="queued", claimed_at=8)
    assert not store.set_message("m-none", "claimed", expected="queued")

    message = store.message("m-1")
    assert message is not None
    assert (message.state, message.facts) == ("claimed", {"text": "hello", "claimed_at": 7})
    assert store.message("m-none") is None


def test_of_many_who_claim_a_message_at_once_one_gets_it(store: SessionStore, open_store: Open) -> None:
    store.add_message("s-1", "m-1", "queued")
    stores = [store, *(open_store() for _ in range(3))]
    won = list[bool]()
    start = threading.Barrier(len(stores) * 2)

    def claim(mine: SessionStore) -> None:
        start.wait()
        won.append(mine.set_message("m-1", "claimed", expected="queued"))

    threads = [threading.Thread(target=claim, args=(mine,)) for mine in stores * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(won) == [False] * 7 + [True]


def test_an_id_is_used_once(store: SessionStore) -> None:
    store.add_message("s-1", "m-1", "queued")

    with pytest.raises(StoreUnusable):
        store.add_message("s-1", "m-1", "queued")


def test_a_message_that_cannot_be_kept_is_refused(
    store: SessionStore, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.message_table.connection.execute("PRAGMA busy_timeout = 1")
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnusable, match="another process holds its lock"):
        store.add_message("s-1", "m-1", "queued")
    other.execute("ROLLBACK")

    assert store.messages() == []


def test_a_store_in_memory_takes_messages_from_other_threads(open_store: Open) -> None:
    with SessionStore.in_memory() as store:
        threads = [threading.Thread(target=store.add_message, args=("s-1", f"m-{n}", "queued")) for n in range(20)]
        for thread in threads:
            thread.start()
        for _ in range(200):
            store.tell("s-1", "busy")
            store.write()
        for thread in threads:
            thread.join()
        assert len(store.messages()) == 20
