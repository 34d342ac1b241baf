"""What a CLI that names its turns tells by two ways comes into one order, whichever is read first."""

import pytest

from mcp_agent.adapter import PromptAccepted, Signal, Source, TranscriptAt, TurnEnded, TurnOutcome
from mcp_agent.sessions.turn_order import MOST_EARLY_ENDS, TurnOrder, begins_another
from mcp_agent.sessions.turns import Turns

pytestmark = pytest.mark.contract("S3", "I2")


def accepted(text: str, native_id: str | None) -> PromptAccepted:
    return PromptAccepted(text, native_turn_id=native_id)


def ended(native_id: str | None, text: str = "") -> TurnEnded:
    return TurnEnded(TurnOutcome.COMPLETED, text, source=Source.TRANSCRIPT, native_turn_id=native_id)


def told(*signals: Signal, turns: Turns | None = None) -> list[tuple[str, str, str | None]]:
    """The turns that come of it: prompt, inputs that joined, and final text or outcome."""
    turns, order = turns or Turns(), TurnOrder()
    for signal in signals:
        for due in order.arrange(signal, turns):
            match due:
                case PromptAccepted():
                    turns.accept(due.text, native_id=due.native_turn_id)
                case TurnEnded():
                    turns.end(due)
    return [(turn.prompt, " ".join(turn.live_inputs), how_it_ended(turn.ended)) for turn in turns.all]


def how_it_ended(ended: TurnEnded | None) -> str | None:
    return (ended.final_text or ended.outcome) if ended else None


def test_an_end_that_is_read_before_its_prompt_ends_that_turn() -> None:
    assert told(ended("1", "one"), accepted("a", "1")) == [("a", "", "one")]


def test_an_end_of_another_turn_does_not_end_the_one_that_runs() -> None:
    assert told(accepted("a", "1"), ended("2", "two")) == [("a", "", None)]
    assert told(accepted("a", "1"), ended("2", "two"), ended("1", "one"), accepted("b", "2")) == [
        ("a", "", "one"),
        ("b", "", "two"),
    ]


def test_a_prompt_of_the_same_turn_joins_it() -> None:
    assert told(accepted("a", "1"), accepted("b", "1"), ended("1", "one")) == [("a", "b", "one")]


def test_a_prompt_of_the_next_turn_says_that_the_last_one_is_over() -> None:
    assert told(accepted("a", "1"), accepted("b", "2")) == [("a", "", "failed"), ("b", "", None)]


def test_an_end_that_is_told_again_ends_nothing_later() -> None:
    assert told(accepted("a", "1"), ended("1", "one"), ended("1", "again"), accepted("b", "2"))[1] == ("b", "", None)


def test_signals_without_a_turns_own_id_pass_as_they_are() -> None:
    assert told(accepted("a", None), accepted("b", None), ended(None, "one")) == [("a", "b", "one")]
    assert told(accepted("a", None), ended("1", "one")) == [("a", "", "one")]


def test_an_end_without_an_id_is_that_of_the_turn_where_the_transcript_is() -> None:
    read = (TranscriptAt("1"), TranscriptAt(answer="wait"), TranscriptAt("1"), TranscriptAt(answer="one"), ended(None))

    assert told(accepted("a", "1"), *read) == [("a", "", "one")]


def test_a_late_end_without_an_id_does_not_end_the_next_turn() -> None:
    first = (accepted("a", "1"), TranscriptAt("1"), TranscriptAt(answer="one"), ended("1", "told by a hook"))

    assert told(*first, accepted("b", "2"), ended(None)) == [("a", "", "told by a hook"), ("b", "", None)]
    assert told(*first, accepted("b", "2"), ended(None), TranscriptAt("2"), ended(None))[1] == ("b", "", "completed")


def test_a_server_that_comes_later_takes_the_transcript_to_be_at_the_newest_turn_that_it_finds() -> None:
    turns = Turns()
    turns.accept("a", native_id="1")
    turns.end(ended("1", "one"))

    assert told(accepted("b", "2"), ended(None), turns=turns)[1] == ("b", "", None)


def test_of_ends_that_nobody_prompted_only_the_newest_are_remembered() -> None:
    ends = [ended(str(number), f"text {number}") for number in range(MOST_EARLY_ENDS + 1)]

    assert told(*ends, accepted("a", "0")) == [("a", "", None)]
    assert told(*ends, accepted("a", "1")) == [("a", "", "text 1")]


def test_only_a_prompt_of_another_turn_begins_another() -> None:
    turns = Turns()
    assert not begins_another([accepted("a", "1")], turns)
    turns.accept("a", native_id="1")

    assert begins_another([accepted("b", "2")], turns)
    assert not begins_another([accepted("b", "1"), accepted("b", None), ended("2")], turns)
