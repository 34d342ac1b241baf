"""What a ledger answers without its file: only that there is nothing, and only where there is nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_agent.calls.ledger_events import Happened, Outcome, WaitEnded, WhyEnded

if TYPE_CHECKING:
    from mcp_agent.calls.ledger import Ledger
    from tests.calls.ledger.conftest import Place

pytestmark = pytest.mark.contract("W5", "W6", "W8")

GAVE_UP = WaitEnded(WhyEnded.TOOL_WAIT, 900.0)
LATE = Outcome(Happened.SUCCEEDED, late=True)


def similar(ledger: Ledger, digest: str = "d-1", session: str = "s-1") -> list[str]:
    return [call.call_id for call in ledger.similar(session, "publish", digest=digest)]


def late(ledger: Ledger, session: str = "s-1") -> list[str]:
    return [call.call_id for call in ledger.late_unoffered(session)]


def test_what_an_earlier_server_wrote_is_found(place: Place) -> None:
    with place.open() as ledger:
        ledger.intent("call_1", place.intent())
        ledger.append("call_1", GAVE_UP)
        ledger.intent("call_2", place.intent(digest="d-2"))
        ledger.append("call_2", GAVE_UP, LATE)

    with place.open() as ledger:
        assert (similar(ledger), similar(ledger, "d-3"), similar(ledger, session="s-2")) == (["call_1"], [], [])
        assert (late(ledger), late(ledger, "s-2")) == (["call_2"], [])


def test_what_this_server_writes_is_found_at_once(place: Place, ledger: Ledger) -> None:
    assert (similar(ledger), late(ledger)) == ([], [])
    ledger.intent("call_1", place.intent())
    ledger.append("call_1", GAVE_UP)
    assert (similar(ledger), late(ledger)) == (["call_1"], [])
    ledger.append("call_1", LATE)
    assert late(ledger) == ["call_1"]
