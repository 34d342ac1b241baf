"""Pruning forgets what is old and known, and nothing that somebody may still ask about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_agent.calls import ledger as ledger_module
from mcp_agent.calls.ledger_events import (
    Decider,
    Event,
    Evidence,
    Happened,
    Outcome,
    Resolved,
    Verdict,
    WaitEnded,
    WhyEnded,
)
from mcp_agent.errors import UnknownCall

if TYPE_CHECKING:
    from mcp_agent.calls.ledger import Ledger
    from tests.calls.ledger.conftest import Place

pytestmark = pytest.mark.contract("W6")

STOPPED_WAITING = WaitEnded(WhyEnded.TOOL_WAIT, 900.0)
ANSWERED = (WaitEnded(WhyEnded.RESULT, 1.0), Outcome(Happened.SUCCEEDED))


@pytest.mark.parametrize(
    ("events", "goes"),
    [
        (ANSWERED, True),
        ((), False),
        ((STOPPED_WAITING,), False),
        ((STOPPED_WAITING, Evidence(Verdict.CANNOT_TELL)), False),
        ((STOPPED_WAITING, Outcome(Happened.FAILED, late=True)), True),
        ((STOPPED_WAITING, Evidence(Verdict.HAPPENED)), True),
        ((STOPPED_WAITING, Resolved(False, "", Decider.OWNER)), True),
    ],
)
def test_only_an_old_call_that_is_over_and_known_is_forgotten(
    ledger: Ledger, place: Place, events: tuple[Event, ...], *, goes: bool
) -> None:
    ledger.intent("call_1", place.intent())
    ledger.append("call_1", *events)

    assert ledger.prune(place.clock.now + 1) == (("call_1",) if goes else ())
    assert [call.call_id for call in ledger.list()] == ([] if goes else ["call_1"])


def test_a_call_is_as_old_as_its_last_fact(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_1", place.intent())
    place.clock.now += 100
    ledger.append("call_1", *ANSWERED)

    assert ledger.prune(place.clock.now) == ()
    assert ledger.prune(place.clock.now + 1) == ("call_1",)
    with pytest.raises(UnknownCall):
        ledger.events("call_1")


def test_a_fact_that_comes_while_pruning_saves_its_call(
    ledger: Ledger, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        ledger.intent(f"call_{number}", place.intent())
        ledger.append(f"call_{number}", *ANSWERED)
    before = place.clock.now + 1
    place.clock.now += 100
    monkeypatch.setattr(ledger_module, "PRUNED_AT_ONCE", 1)
    prune_some = ledger_module.Ledger._prune_some

    def with_a_late_fact(self: Ledger, call_ids: list[str], before: float) -> object:
        if call_ids == ["call_1"]:
            self.append("call_1", Outcome(Happened.FAILED, late=True))
        return prune_some(self, call_ids, before)

    monkeypatch.setattr(ledger_module.Ledger, "_prune_some", with_a_late_fact)

    assert ledger.prune(before) == ("call_0", "call_2")
    assert len(ledger.get("call_1").outcomes) == 2


def test_nothing_of_a_forgotten_call_is_left_in_the_files(ledger: Ledger, place: Place) -> None:
    ledger.intent("call_1", place.intent(arguments={"note": "canary-4711"}))
    ledger.append("call_1", *ANSWERED)
    ledger.prune(place.clock.now + 1)

    left = b"".join(file.read_bytes() for file in place.path.parent.iterdir())
    assert left
    assert b"canary-4711" not in left


def test_many_calls_are_forgotten_in_turns(ledger: Ledger, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "PRUNED_AT_ONCE", 3)
    ids = [f"call_{number}" for number in range(10)]
    for call_id in ids:
        ledger.intent(call_id, place.intent())
        ledger.append(call_id, *ANSWERED)

    assert ledger.prune(place.clock.now + 1) == tuple(ids)
    assert ledger.list() == ()
