"""What is told is written soon, what is old is forgotten, and whoever missed something is told so."""

import sqlite3
from collections.abc import Callable
from datetime import timedelta

import anyio
import pytest

from mcp_agent.adapter import TurnEnded, TurnOutcome
from mcp_agent.sessions.store import store as stores
from mcp_agent.sessions.store import upkeep
from mcp_agent.sessions.store.store import SessionStore
from mcp_agent.sessions.store.upkeep import EVENTS_KEPT_FOR, TURNS_KEPT_FOR, keep, prune
from mcp_agent.sessions.turns import Turns, history

Open = Callable[[], SessionStore]


def after_a_day(store: SessionStore, *, seconds: float = 1.0) -> None:
    prune(store.path, store.clock() + EVENTS_KEPT_FOR.total_seconds() + seconds)


@pytest.mark.anyio
async def test_what_is_told_is_written_without_anybody_asking(store: SessionStore, open_store: Open) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(keep, store)
        for kind in ("one", "two"):
            arrived = store.arrived
            store.tell("s-1", kind)
            with anyio.fail_after(10):
                await arrived.wait()
            assert open_store().events(after=0, limit=10).events[-1].kind == kind
        group.cancel_scope.cancel()


@pytest.mark.anyio
async def test_what_a_held_file_did_not_take_is_written_when_it_is_free(
    store: SessionStore, open_store: Open, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (stores, upkeep):
        monkeypatch.setattr(module, "TRY_AGAIN_AFTER", timedelta(milliseconds=10))
    async with anyio.create_task_group() as group:
        group.start_soon(keep, store)
        other.execute("BEGIN IMMEDIATE")
        arrived = store.arrived
        store.tell("s-1", "one")
        assert not store.write()
        other.execute("ROLLBACK")
        with anyio.fail_after(10):
            await arrived.wait()
        group.cancel_scope.cancel()

    assert open_store().events(after=0, limit=10).events[0].kind == "one"


def test_events_are_kept_for_a_day(store: SessionStore) -> None:
    store.tell("s-1", "one")
    store.write()
    after_a_day(store, seconds=-10)
    assert len(store.events(after=0, limit=10).events) == 1
    after_a_day(store)

    assert store.events(after=0, limit=10).events == ()


def test_a_cursor_older_than_what_is_kept_is_told_so_and_others_are_not(store: SessionStore) -> None:
    store.tell("s-1", "old")
    store.tell("s-2", "old too")
    old = store.events(after=0, limit=10).next
    after_a_day(store)
    store.tell("s-1", "new")
    store.tell("s-3", "new")

    assert store.events(after=0, session_id="s-1", limit=10).gap
    assert store.events(after=0, limit=10).gap
    assert not store.events(after=old, session_id="s-1", limit=10).gap
    assert not store.events(after=old, limit=10).gap
    assert not store.events(after=0, session_id="s-3", limit=10).gap


def test_cursors_are_never_used_twice_though_everything_is_forgotten(store: SessionStore, open_store: Open) -> None:
    store.tell("s-1", "old")
    old = store.events(after=0, limit=10).next
    after_a_day(store)
    again = open_store()
    again.tell("s-1", "new")

    [event] = again.events(after=old, limit=10).events
    assert event.seq > old


def test_more_events_than_are_kept_push_the_oldest_out(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "MOST_EVENTS", 10)
    monkeypatch.setattr(upkeep, "PRUNED_AT_ONCE", 7)
    for number in range(50):
        store.tell("s-1", f"{number}")
    store.write()
    prune(store.path, store.clock())

    page = store.events(after=0, limit=100)
    assert [event.kind for event in page.events] == [f"{number}" for number in range(40, 50)]
    assert page.gap


def test_turns_are_kept_for_a_month_after_their_end_and_running_ones_for_ever(store: SessionStore) -> None:
    over, running = Turns(store, "s-1"), Turns(store, "s-2")
    over.accept("one")
    over.end(TurnEnded(TurnOutcome.COMPLETED))
    running.accept("two")
    month = TURNS_KEPT_FOR.total_seconds()
    prune(store.path, store.clock() + month - 10)
    assert len(history(store, "s-1")) == 1
    prune(store.path, store.clock() + month + 10)

    assert history(store, "s-1") == []
    assert [turn.prompt for turn in history(store, "s-2")] == ["two"]


def test_messages_that_wait_are_never_forgotten(store: SessionStore) -> None:
    for state in ("waiting", "sending", "delivered"):
        store.add_message("s-1", f"m-{state}", state)
    prune(store.path, store.clock() + TURNS_KEPT_FOR.total_seconds() + 10)

    assert [message.state for message in store.messages()] == ["waiting", "sending"]
