"""A disk that is full in the middle of a call takes nothing from its caller, and nothing from the record."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from mcp_agent.calls.ledger_events import Happened, WhyEnded
from mcp_agent.errors import DuplicateCall, LedgerUnusable
from mcp_agent.tools.tool import ToolResult
from tests.tools.dispatched.conftest import Silent

if TYPE_CHECKING:
    from mcp_agent.tools.tool import CallContext
    from tests.tools.dispatched.conftest import Desk

pytestmark = [pytest.mark.anyio, pytest.mark.contract("W6")]


def fill(desk: Desk) -> None:
    """Nothing fits into the file any more."""
    database = desk.ledger.connection
    database.execute("PRAGMA max_page_count = 1").fetchall()
    for size in (3000, 300, 30, 1):
        with suppress(sqlite3.OperationalError):
            while True:
                database.execute("INSERT INTO events (call_id, at, kind, facts) VALUES ('', 0, '', ?)", ("x" * size,))


def free(desk: Desk) -> None:
    desk.ledger.connection.execute("PRAGMA max_page_count = 1000000").fetchall()


async def test_an_answer_is_given_and_its_record_is_kept_until_it_fits(desk: Desk, tool: Silent) -> None:
    tool.result, tool.at_the_end = ToolResult("x" * 9000), lambda: fill(desk)
    assert (await desk.call()).text == "x" * 9000
    assert desk.ledger.unwritten
    assert desk.ended() == (WhyEnded.RESULT, Happened.SUCCEEDED)
    free(desk)
    tool.at_the_end = lambda: None
    await desk.call("call_2", number=2)
    assert desk.ledger.unwritten == []
    assert desk.ended() == (WhyEnded.RESULT, Happened.SUCCEEDED)


class Announcing(Silent):
    """A tool whose work outlives its server; it notes what the ledger holds when it is told of a call."""

    def announce(self, context: CallContext) -> None:
        self.events.append(f"announced {context.call_id}")

    def withdraw(self, context: CallContext) -> None:
        self.events.append(f"withdrawn {context.call_id}")

    async def recover(self, context: CallContext) -> ToolResult | None:
        return None


async def test_an_announcement_is_withdrawn_when_the_intent_does_not_fit(desk: Desk) -> None:
    tool = Announcing()
    desk.dispatcher.tools = {"silent": tool}
    fill(desk)
    with pytest.raises(LedgerUnusable):
        await desk.call(text="x" * 9000)
    assert tool.events == ["announced call_1", "withdrawn call_1"]


@pytest.mark.contract("W8")
async def test_a_second_use_of_a_call_id_leaves_the_mark_of_the_first(desk: Desk) -> None:
    tool = Announcing()
    desk.dispatcher.tools = {"silent": tool}
    await desk.call()
    with pytest.raises(DuplicateCall):
        await desk.call(number=2)
    assert "withdrawn call_1" not in tool.events


async def test_a_call_whose_intent_does_not_fit_is_not_started(desk: Desk, tool: Silent) -> None:
    fill(desk)
    with pytest.raises(LedgerUnusable, match="the disk is full"):
        await desk.call(text="x" * 9000)
    assert not tool.began.is_set()
    free(desk)
    await desk.call(text="x" * 9000)
    assert tool.events == ["worked"]
