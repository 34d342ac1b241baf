"""A prompt that a CLI shows as held for its running turn, and why a CLI that works takes longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_agent.adapter import Busy, PromptAccepted, PromptQueued, Ready
from mcp_agent.sessions.live import ExpectedPrompt
from mcp_agent.sessions.words import begins_with

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = pytest.mark.anyio

LIVE = "live input\nof two lines"


@pytest.mark.contract("I2", "I4")
async def test_a_prompt_that_is_shown_as_held_belongs_to_the_running_turn_and_joins_it_later(bench: Bench) -> None:
    async with bench.observed() as (session, _):
        session.apply(PromptAccepted("work"))
        expected = ExpectedPrompt(LIVE)
        session.expect(expected)

        session.apply(PromptQueued("live input"))

        assert (expected.turn, expected.joined) == (session.turns.current, True)
        assert session.turns.all[0].live_inputs == ()
        session.apply(PromptAccepted(LIVE))
        assert [turn.live_inputs for turn in session.turns.all] == [(LIVE,)]


@pytest.mark.contract("I2")
async def test_a_held_prompt_is_evidence_for_no_other_and_for_none_without_a_turn(bench: Bench) -> None:
    async with bench.observed() as (session, _):
        expected = ExpectedPrompt(LIVE)
        session.expect(expected)

        session.apply(PromptQueued("live input"))
        assert expected.turn is None
        session.apply(PromptAccepted("work"))
        session.apply(PromptQueued("something else"))

        assert expected.turn is None


@pytest.mark.contract("S3")
async def test_a_busy_session_says_why_it_takes_longer(bench: Bench) -> None:
    async with bench.observed() as (session, _):
        session.bridge_is_up()
        session.apply(PromptAccepted("work"))

        for reading, detail in ((Busy(), None), (Busy(reason="reconnecting"), "reconnecting"), (Ready(), None)):
            session.apply(reading)
            assert (session.state, session.status.detail) == ("busy", detail)


@pytest.mark.parametrize(
    ("whole", "beginning", "holds"),
    [
        ("live input", "live input", True),
        ("live input", "live", True),
        ("live input of mine", "live\ninp", True),
        ("live input", "input", False),
        ("live", "live input", False),
        ("live input", "", False),
    ],
)
def test_a_beginning_may_be_cut_in_its_last_word(whole: str, beginning: str, holds: bool) -> None:
    assert begins_with(whole, beginning) is holds
