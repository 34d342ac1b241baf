"""The states of an execution, and its record on disk."""

from __future__ import annotations

import itertools
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mcp_agent.errors import (
    ExecutionsUnusable,
    ExecutionUnreadable,
    IdempotencyKeyReused,
    QueueFull,
    UnknownExecution,
)
from mcp_agent.executions.records import (
    FINISHED,
    UNFINISHED,
    Child,
    DeliveryState,
    ExecutionRecord,
    ExecutionState,
    Outcome,
    before,
    may_follow,
    new_execution_id,
)
from mcp_agent.executions.store import ChildSecrets, ExecutionStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

S = ExecutionState
DONE = Outcome("result", "child", "it completed", "the answer")


@pytest.fixture
def store(short_tmp: Path) -> Iterator[ExecutionStore]:
    with ExecutionStore.open(short_tmp / "executions.sqlite") as store:
        yield store


def record(place: Path, **more: object) -> ExecutionRecord:
    facts: dict[str, object] = {"id": new_execution_id(), "instructions": "do it", "digest": "d", "created_at": 1.0}
    return ExecutionRecord(child=Child("plain", place), **{**facts, **more})  # type: ignore[arg-type]


def add(store: ExecutionStore, **more: object) -> ExecutionRecord:
    return store.add(record(store.path.parent, **more), ChildSecrets({"KEY": "hunter2"}, "k"), most_unfinished=10)


@pytest.mark.contract("E3")
def test_a_finished_execution_comes_into_no_other_state() -> None:
    assert not any(may_follow(one, other) for one, other in itertools.product(FINISHED, ExecutionState))


@pytest.mark.contract("E3")
def test_an_execution_moves_forward_only() -> None:
    order = [S.QUEUED, S.RUNNING, S.CANCELLING]
    assert not any(may_follow(later, earlier) for earlier, later in itertools.combinations_with_replacement(order, 2))
    assert all(before(state) <= UNFINISHED for state in ExecutionState)
    assert before(S.SUCCEEDED) == {S.RUNNING, S.CANCELLING}
    assert before(S.CANCELLING) == {S.RUNNING}


@pytest.mark.contract("E3")
def test_an_observer_that_comes_late_overwrites_no_outcome(store: ExecutionStore) -> None:
    kept = add(store)
    assert store.move(kept.id, S.SUCCEEDED, outcome=DONE) is None
    assert store.move(kept.id, S.RUNNING) is not None
    assert store.move(kept.id, S.SUCCEEDED, outcome=DONE) is not None
    late = Outcome("turn_deadline", "caller", "too late")
    assert store.move(kept.id, S.DEADLINE_EXCEEDED, outcome=late) is None
    assert store.move(kept.id, S.CANCELLING) is None
    assert store.get(kept.id) == replace(kept, state=S.SUCCEEDED, outcome=DONE)


def test_what_is_kept_is_found_by_the_next_server(store: ExecutionStore) -> None:
    kept = add(store, parent_session="s-1", call_id="call_1", deadline_at=5.0, agent="helper", depth=2)
    with ExecutionStore.open(store.path) as again:
        assert again.get(kept.id) == kept
        assert again.of_call("call_1") == kept
        assert again.of_call("call_2") is None
        assert again.select(parent="s-1") == again.select(states=UNFINISHED) == [kept]
        assert again.select(parent="s-2") == again.select(states=FINISHED) == []
        assert again.secrets(kept.id) == ChildSecrets({"KEY": "hunter2"}, "k")


def test_secrets_are_shown_by_nothing_and_forgotten_at_the_end(store: ExecutionStore) -> None:
    kept = add(store)
    assert "hunter2" not in f"{kept} {store.secrets(kept.id)}"
    store.move(kept.id, S.CANCELLED, outcome=DONE)
    assert store.secrets(kept.id) == ChildSecrets()
    left = [path.read_bytes() for path in store.path.parent.glob("executions.sqlite*")]
    assert not any(b"hunter2" in page for page in left)


@pytest.mark.contract("E5")
def test_a_key_belongs_to_one_execution_of_one_caller(store: ExecutionStore) -> None:
    first = add(store, idempotency_key="key", parent_session="s-1")
    assert add(store, idempotency_key="key", parent_session="s-1") == first
    assert add(store, idempotency_key="key", parent_session="s-2") != first
    with pytest.raises(IdempotencyKeyReused):
        add(store, idempotency_key="key", parent_session="s-1", digest="other")
    store.move(first.id, S.CANCELLED, outcome=DONE)
    assert add(store, idempotency_key="key", parent_session="s-1").state is S.CANCELLED
    assert add(store).id != add(store).id


def test_a_full_queue_takes_nothing_until_something_has_ended(store: ExecutionStore) -> None:
    kept = [add(store) for _ in range(10)]
    with pytest.raises(QueueFull):
        add(store)
    store.move(kept[0].id, S.CANCELLED, outcome=DONE)
    add(store)


def test_a_delivery_is_claimed_once(store: ExecutionStore) -> None:
    kept = add(store, delivery=DeliveryState.PENDING)
    claim = [store.deliver(kept.id, DeliveryState.CLAIMED, expected={DeliveryState.PENDING}) for _ in range(2)]
    assert claim == [True, False]
    assert [one.id for one in store.untold()] == [kept.id]
    assert store.deliver(kept.id, DeliveryState.SENT, expected={DeliveryState.CLAIMED})
    assert store.untold() == []


def test_only_what_ended_long_ago_is_forgotten(store: ExecutionStore) -> None:
    old, running, young = add(store), add(store), add(store, created_at=9.0)
    for one in (old, young):
        store.move(one.id, S.CANCELLED, outcome=DONE)
    assert store.prune(5.0) == 1
    assert [one.id for one in store.select()] == [running.id, young.id]
    with pytest.raises(UnknownExecution):
        store.get(old.id)


def test_a_file_that_is_not_ours_is_one_clear_error_and_stays(short_tmp: Path) -> None:
    path = short_tmp / "executions.sqlite"
    with sqlite3.connect(path) as foreign:
        foreign.execute("CREATE TABLE theirs (x)")
    foreign.close()
    before_it = path.read_bytes()
    with pytest.raises(ExecutionsUnusable) as caught:
        ExecutionStore.open(path)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before_it


@pytest.mark.parametrize("facts", ["{", b"\xff", "null"])
def test_a_row_that_cannot_be_read_is_named_and_left_out_of_the_others(store: ExecutionStore, facts: object) -> None:
    broken, sound = add(store, idempotency_key="k", parent_session="s-1"), add(store, delivery=DeliveryState.PENDING)
    store.connection.execute("UPDATE executions SET facts = ?, delivery = 'pending' WHERE id = ?", (facts, broken.id))
    assert [one.id for one in store.select()] == [one.id for one in store.untold()] == [sound.id]
    assert list(store.unreadable) == [broken.id]
    with pytest.raises(ExecutionUnreadable, match=broken.id):
        store.get(broken.id)
    with pytest.raises(ExecutionUnreadable, match=broken.id):
        store.of_key("k", parent="s-1")


def test_its_messages_have_the_same_ids_for_ever(short_tmp: Path) -> None:
    one = record(short_tmp, id="x-0123456789")
    assert (one.message_id, one.delivery_id) == ("m-0123456789", "m-" + one.delivery_id[2:])
    assert one.delivery_id == record(short_tmp, id="x-0123456789").delivery_id != one.message_id
    assert len(one.delivery_id) == len(one.message_id)
