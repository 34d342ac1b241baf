"""Events that are handed over, because they could not be spooled: each counts once, in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mcp_agent.sessions.live import LiveSession
    from tests.sessions.conftest import Bench

pytestmark = [pytest.mark.anyio, pytest.mark.contract("S3")]


def outcomes(session: LiveSession) -> list[str | None]:
    return [turn.ended.outcome if turn.ended else None for turn in session.turns.all]


async def test_an_end_that_is_handed_over_ends_the_turn(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tell(accepted="one")
        session.take_handed("2-1", {"ended": "completed"})

        assert (outcomes(session), session.state) == (["completed"], "ready")


async def test_what_was_spooled_before_is_taken_before(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.spool(accepted="one")
        session.take_handed("2-1", {"ended": "completed"})

        assert outcomes(session) == ["completed"]


async def test_an_end_that_is_handed_over_again_does_not_end_the_next_turn(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tell(accepted="one")
        session.take_handed("2-1", {"ended": "completed"})
        cli.tell(accepted="two")
        session.take_handed("2-1", {"ended": "completed"})

        assert outcomes(session) == ["completed", None]


async def test_an_end_that_is_spooled_after_it_was_handed_over_does_not_end_the_next_turn(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        cli.tell(accepted="one")
        session.take_handed("2-1", {"ended": "completed"})
        cli.tell(accepted="two")
        (bench.events / "2-1.json").write_text('{"ended": "completed"}')
        session.take_events()

        assert outcomes(session) == ["completed", None]
        assert not session.spool.has_any
