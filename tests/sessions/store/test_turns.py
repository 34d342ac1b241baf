"""What is known of a turn: how it began, what it cost, and why it ended."""

import pytest

from mcp_agent.adapter import TurnEnded, TurnOutcome, Usage
from mcp_agent.sessions.store.store import SessionStore
from mcp_agent.sessions.turns import Turns, total

pytestmark = pytest.mark.contract("S3")

COMPLETED, INTERRUPTED = TurnEnded(TurnOutcome.COMPLETED), TurnEnded(TurnOutcome.INTERRUPTED)


@pytest.fixture
def turns(store: SessionStore) -> Turns:
    return Turns(store, "s-1")


def test_a_turn_knows_whether_it_was_ours_and_by_which_message(turns: Turns) -> None:
    turns.accept("ours", sent=True, message_id="m-1")
    turns.end(COMPLETED)
    turns.accept("a person's")

    assert [(turn.submission, turn.message_id) for turn in turns.all] == [("delivered", "m-1"), ("seen", None)]


def test_what_joins_a_turn_is_told_with_its_own_message(turns: Turns, store: SessionStore) -> None:
    turns.accept("ours", sent=True, message_id="m-1")
    turns.accept("and this", sent=True, message_id="m-2")

    joined = store.events(after=0, limit=10).events[-1]
    assert (joined.kind, joined.facts["message_id"]) == ("turn.joined", "m-2")
    assert turns.all[0].message_id == "m-1"


def test_an_answer_that_is_told_again_is_counted_once_with_its_last_word(turns: Turns) -> None:
    turns.accept("one")
    turns.used("a", Usage(10, 1))
    turns.used("a", Usage(10, 7))
    turns.used("b", Usage(5, 2))

    assert turns.all[0].usage == Usage(15, 9)


def test_a_cost_that_is_told_late_belongs_to_the_turn_that_ended(turns: Turns, store: SessionStore) -> None:
    turns.accept("one")
    turns.end(COMPLETED)
    turns.used("a", Usage(10, 1))
    turns.accept("two")
    turns.used("b", Usage(1, 1))

    assert [turn.usage for turn in Turns.restored(store, "s-1").all] == [Usage(10, 1), Usage(1, 1)]


def test_what_the_provider_says_at_the_end_is_the_cost_of_the_whole(turns: Turns) -> None:
    turns.accept("one")
    turns.used("a", Usage(10, 1))
    turns.end(TurnEnded(TurnOutcome.COMPLETED, usage=Usage(100, 20, 0.5)))

    assert turns.all[0].usage == Usage(100, 20, 0.5)


def test_nobody_pays_for_what_nobody_said(turns: Turns) -> None:
    turns.used("a", Usage(10, 1))
    turns.accept("one")

    assert turns.all[0].usage is None
    assert total([Usage(1, None), Usage(2, None)]) == Usage(3, None, None)


def test_the_first_who_interrupted_is_the_reason_and_only_of_an_interrupted_turn(turns: Turns) -> None:
    turns.interrupt("person")
    turns.accept("one")
    assert not turns.aborted
    turns.interrupt("deadline")
    turns.interrupt("stop")
    turns.end(INTERRUPTED)
    turns.accept("two")
    turns.interrupt("person")
    turns.end(COMPLETED)

    assert [turn.reason for turn in turns.all] == ["deadline", None]
    assert turns.aborted


def test_an_event_repeats_only_the_beginning_of_a_long_prompt(turns: Turns, store: SessionStore) -> None:
    turns.accept("x" * 100_000)

    assert len(str(store.events(after=0, limit=10).events[0].facts["prompt"])) < 1000
