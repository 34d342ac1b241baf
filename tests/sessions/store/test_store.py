"""What is kept of sessions survives every process, and a file that takes nothing loses nothing."""

import sqlite3
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_agent.adapter import TurnEnded, TurnOutcome, Usage
from mcp_agent.errors import StoreUnusable
from mcp_agent.sessions.store import store as stores
from mcp_agent.sessions.store.events import EventPage
from mcp_agent.sessions.store.store import SessionStore
from mcp_agent.sessions.turns import Turns, history

pytestmark = pytest.mark.contract("S9")

Open = Callable[[], SessionStore]


def kinds(page: EventPage) -> list[str]:
    return [event.kind for event in page.events]


def everything(store: SessionStore, *, after: int = 0, session: str | None = None) -> EventPage:
    return store.events(after=after, session_id=session, limit=1000)


def test_the_file_is_its_owners_alone(store: SessionStore) -> None:
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


def test_a_turn_is_on_disk_at_every_step(store: SessionStore, open_store: Open) -> None:
    turns = Turns(store, "s-1")
    turns.accept("one", sent=True, message_id="m-1")
    assert [turn.prompt for turn in history(open_store(), "s-1")] == ["one"]
    turns.accept("and this")
    turns.used("a", Usage(3, 2))
    turns.end(TurnEnded(TurnOutcome.COMPLETED, "done"))

    assert history(open_store(), "s-1") == turns.all
    assert turns.all[0].live_inputs == ("and this",)
    assert turns.all[0].ended_at is not None


def test_turns_of_one_session_are_told_oldest_first_and_without_those_of_another(store: SessionStore) -> None:
    for session in ("s-1", "s-2", "s-1"):
        turns = Turns.restored(store, session)
        turns.accept(f"prompt {len(turns.all)} of {session}")
        turns.end(TurnEnded(TurnOutcome.COMPLETED))

    assert [turn.prompt for turn in history(store, "s-1")] == ["prompt 0 of s-1", "prompt 1 of s-1"]


def test_a_turn_that_ran_runs_again_after_a_crash_and_ends_once(store: SessionStore, open_store: Open) -> None:
    running = Turns(store, "s-1").accept("one")
    after = Turns.restored(open_store(), "s-1")
    assert after.current == running
    assert after.end(TurnEnded(TurnOutcome.COMPLETED, "late")) is not None
    assert after.end(TurnEnded(TurnOutcome.FAILED)) is None

    [turn] = history(store, "s-1")
    assert turn.ended is not None
    assert (turn.id, turn.ended.final_text) == (running.id, "late")


def test_a_prompt_that_is_no_text_elsewhere_is_kept_as_it_is(store: SessionStore, open_store: Open) -> None:
    prompt = "lone \ud800 and \x00 and \U0001f468\u200d\U0001f469 " + "x" * 1_000_000
    Turns(store, "s-1").accept(prompt)

    assert history(open_store(), "s-1")[0].prompt == prompt


def test_events_have_cursors_that_go_on_over_a_restart(store: SessionStore, open_store: Open) -> None:
    store.tell("s-1", "one", number=1)
    store.tell("s-2", "two")
    first = everything(store)
    assert [event.session_id for event in first.events] == ["s-1", "s-2"]
    assert first.events[0].facts == {"number": 1}

    again = open_store()
    again.tell("s-1", "three")
    assert kinds(everything(again, after=first.next)) == ["three"]
    assert kinds(everything(again, session="s-1")) == ["one", "three"]
    assert not everything(again).gap


def test_pages_lead_from_one_to_the_next_without_a_hole(store: SessionStore) -> None:
    for number in range(10):
        store.tell("s-1", f"{number}")
        store.tell("s-2", "other")
    told, after = list[str](), 0
    while (page := store.events(after=after, session_id="s-1", limit=3)).events:
        told, after = told + kinds(page), page.next

    assert told == [f"{number}" for number in range(10)]


def test_what_is_told_is_read_at_once_and_written_with_the_next_turn(store: SessionStore, open_store: Open) -> None:
    store.tell("s-1", "one")
    Turns(store, "s-1").accept("a prompt")

    assert kinds(everything(open_store())) == ["one", "turn.started"]


def test_what_is_kept_together_is_kept_whole_or_not_at_all(store: SessionStore, open_store: Open) -> None:
    reader = open_store()
    with store.together():
        Turns(store, "s-1").accept("a prompt")
        store.save_progress("s-1", "{}")
        assert (history(reader, "s-1"), reader.progress("s-1")) == ([], None)

    assert len(history(reader, "s-1")) == 1
    assert reader.progress("s-1") == "{}"


def test_a_forgotten_session_leaves_its_events_and_nothing_else(store: SessionStore) -> None:
    Turns(store, "s-1").accept("a prompt")
    Turns(store, "s-2").accept("another")
    store.add_message("s-1", "m-1", "queued")
    store.save_progress("s-1", "{}")
    store.forget("s-1")

    assert (history(store, "s-1"), store.messages("s-1"), store.progress("s-1")) == ([], [], None)
    assert kinds(everything(store, session="s-1")) == ["turn.started"]
    assert len(history(store, "s-2")) == 1


def test_a_file_that_another_process_holds_keeps_nothing_from_happening(
    store: SessionStore, other: sqlite3.Connection, open_store: Open, caplog: pytest.LogCaptureFixture
) -> None:
    turns = Turns(store, "s-1")
    other.execute("BEGIN IMMEDIATE")
    turn = turns.accept("one")
    turns.end(TurnEnded(TurnOutcome.COMPLETED, "done"))
    assert turns.all[0].id == turn.id
    assert history(open_store(), "s-1") == []
    assert "another process holds its lock" in caplog.text
    assert sum("kept in memory" in record.message for record in caplog.records) == 1

    other.execute("ROLLBACK")
    store.close()
    [kept] = history(open_store(), "s-1")
    assert kept.ended is not None
    assert kept.ended.final_text == "done"


def test_a_full_disk_keeps_nothing_from_happening_and_what_happened_is_written_when_there_is_space(
    store: SessionStore, open_store: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "TRY_AGAIN_AFTER", timedelta(0))
    turns = Turns(store, "s-1")
    pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
    store.connection.execute(f"PRAGMA max_page_count = {pages}")
    for number in range(20):
        turns.accept(f"{number} " + "x" * 10_000)
        turns.end(TurnEnded(TurnOutcome.COMPLETED, f"{number}"))
    assert "the disk is full" in caplog.text
    assert len(history(open_store(), "s-1")) < 20

    store.connection.execute("PRAGMA max_page_count = 100000")
    store.tell("s-1", "next")
    assert store.write()
    assert history(open_store(), "s-1") == turns.all
    assert kinds(everything(store))[-1] == "next"


def test_a_file_that_is_held_for_long_holds_up_the_loop_only_now_and_then(
    store: SessionStore, other: sqlite3.Connection
) -> None:
    tries = list[str]()
    store.connection.set_trace_callback(lambda text: tries.append(text) if text.startswith("BEGIN") else None)
    other.execute("BEGIN IMMEDIATE")
    for number in range(1000):
        store.save_progress("s-1", f"{number}")

    assert len(tries) == 1
    assert len(store.unwritten) == 1000
    other.execute("ROLLBACK")


def test_facts_beyond_what_the_memory_holds_are_lost_oldest_first_and_logged(
    store: SessionStore, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stores, "MOST_KEPT", 5)
    other.execute("BEGIN IMMEDIATE")
    for number in range(7):
        store.tell("s-1", f"{number}")
    other.execute("ROLLBACK")

    assert kinds(everything(store)) == ["2", "3", "4", "5", "6"]
    assert caplog.text.count("is lost") == 2


def test_what_could_not_be_written_to_the_end_is_logged_as_lost(
    store: SessionStore, other: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    other.execute("BEGIN IMMEDIATE")
    store.tell("s-1", "one")
    store.close()

    assert "1 facts of sessions are lost" in caplog.text


def test_a_turn_that_nobody_can_read_is_left_out_and_logged(
    store: SessionStore, other: sqlite3.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    turns = Turns(store, "s-1")
    turns.accept("one")
    turns.end(TurnEnded(TurnOutcome.COMPLETED))
    turns.accept("two")
    other.execute("UPDATE turns SET facts = '{\"id\": 7}' WHERE turn_id = ?", (turns.all[0].id,))

    assert [turn.prompt for turn in history(store, "s-1")] == ["two"]
    assert "unreadable" in caplog.text


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_file_is_refused_and_left_as_it_is(path: Path, damage: bytes) -> None:
    path.write_bytes(damage)
    with pytest.raises(StoreUnusable, match="left as it is; move it away"):
        SessionStore.open(path)

    assert path.read_bytes() == damage


def test_a_file_of_a_newer_version_is_refused(store: SessionStore, other: sqlite3.Connection) -> None:
    other.execute("PRAGMA user_version = 99")

    with pytest.raises(StoreUnusable, match="a newer version of mcp-agent"):
        SessionStore.open(store.path)
