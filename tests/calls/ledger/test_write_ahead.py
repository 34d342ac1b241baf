"""Where an event loop writes an intent: itself on a quick disk, in a thread on a slow one, and never once cancelled."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.calls.ledger import Ledger
from mcp_agent.calls.ledger_events import Intent
from mcp_agent.calls.noting import SLOW_DISK, write_ahead
from mcp_agent.errors import DuplicateCall, UnknownCall
from mcp_agent.processes import ProcessIdentity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.contract("W6")]

INTENT = Intent("s-1", "publish", "custom", {}, "d-1", None, 900.0, None, ProcessIdentity(1, 2, "b"), False, False)


@dataclass(slots=True, eq=False)
class Watched(Ledger):
    """Notes which thread wrote."""

    writers: list[threading.Thread] = field(default_factory=list)

    def intent(self, call_id: str, intent: Intent) -> None:
        self.writers.append(threading.current_thread())
        Ledger.intent(self, call_id, intent)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Watched]:
    with Watched.open(tmp_path / "calls.sqlite") as ledger:
        yield ledger


@pytest.mark.parametrize("quick", [True, False])
async def test_the_intent_is_written_on_return_and_a_slow_disk_holds_up_no_loop(ledger: Watched, quick: bool) -> None:
    ledger.intent_seconds = SLOW_DISK.total_seconds() * (0.9 if quick else 1.1)
    await write_ahead(ledger, "call_1", INTENT)

    assert ledger.get("call_1").intent == INTENT
    assert (ledger.writers == [threading.current_thread()]) is quick


async def test_the_disk_is_measured_anew_with_every_intent(ledger: Watched) -> None:
    ledger.intent_seconds = 3600.0
    await write_ahead(ledger, "call_1", INTENT)

    assert 0 < ledger.intent_seconds < 3600.0


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
async def test_an_intent_that_cannot_be_written_is_the_callers_to_know(ledger: Watched, seconds: float) -> None:
    await write_ahead(ledger, "call_1", INTENT)
    ledger.intent_seconds = seconds

    with pytest.raises(DuplicateCall):
        await write_ahead(ledger, "call_1", replace(INTENT, digest="d-2"))


@pytest.mark.contract("W4")
async def test_nothing_is_intended_for_a_caller_that_is_cancelled_already(ledger: Watched) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await write_ahead(ledger, "call_1", INTENT)

    with pytest.raises(UnknownCall):
        ledger.get("call_1")
