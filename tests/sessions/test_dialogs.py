"""Dialogs on the way to the first prompt: answered by label with consent, left to a person otherwise."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest

from mcp_agent.sessions.starting.coming_up import MOST_DIALOG_STEPS, wait_ready
from mcp_agent.timeouts import PromptReady
from mcp_agent.tmux.memory import Pressed

if TYPE_CHECKING:
    from tests.sessions.conftest import Bench

pytestmark = pytest.mark.anyio

LIMITS = PromptReady(timedelta(minutes=5), None)
BOTH_LIMITS = PromptReady(timedelta(minutes=10), timedelta(minutes=90))
PROMPT = ("> ", "---")


@pytest.mark.contract("S5")
@pytest.mark.parametrize("selected", [0, 1, 2])
@pytest.mark.parametrize(
    "options",
    [("Continue", "Quit", "Help"), ("Quit", "Continue", "Help"), ("Help", "Quit", "Continue")],
)
async def test_a_dialog_is_answered_by_its_label_wherever_that_stands(
    bench: Bench, options: tuple[str, ...], selected: int
) -> None:
    async with bench.observed() as (session, pane):
        session.bridge_is_up()
        dialog = bench.dialog(pane, "news", options, selected=selected)

        assert await wait_ready(session, LIMITS) == "ready"
        assert dialog.chosen == ["Continue"]


@pytest.mark.contract("S5", "A5")
async def test_trust_is_given_with_consent(bench: Bench) -> None:
    async with bench.observed(trust=True) as (session, pane):
        session.bridge_is_up()
        dialog = bench.dialog(pane, "trust", ("No, exit", "Yes, trust"))

        assert await wait_ready(session, LIMITS) == "ready"
        assert dialog.chosen == ["Yes, trust"]


@pytest.mark.contract("S5", "A5")
@pytest.mark.parametrize("name", ["trust", "login"])
async def test_a_dialog_without_consent_or_unknown_blocks_and_no_key_is_pressed(bench: Bench, name: str) -> None:
    async with bench.observed() as (session, pane):
        session.bridge_is_up()
        bench.dialog(pane, name, ("Yes, trust", "No, exit"))

        assert await wait_ready(session, LIMITS) == "blocked"
        assert session.status.detail == name
        assert pane.inputs == []


@pytest.mark.contract("S5", "A5")
async def test_a_known_dialog_without_the_expected_label_blocks(bench: Bench) -> None:
    async with bench.observed(trust=True) as (session, pane):
        bench.dialog(pane, "trust", ("Sure", "No, exit"))

        assert await wait_ready(session, LIMITS) == "blocked"
        assert pane.inputs == []


@pytest.mark.contract("S5")
async def test_a_dialog_that_is_drawn_half_is_read_again(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:
        session.bridge_is_up()
        pane.show("[dialog news]", "* Quit")

        async def draw_the_rest() -> None:
            await anyio.sleep(0.4)
            bench.dialog(pane, "news", ("Quit", "Continue"))

        group.start_soon(draw_the_rest)

        assert await wait_ready(session, LIMITS) == "ready"


@pytest.mark.contract("S5")
async def test_a_dialog_that_went_away_by_itself_blocks_nothing(bench: Bench) -> None:
    async with bench.observed() as (session, pane):
        session.bridge_is_up()
        pane.show("[dialog login]", "* Log in")
        await session.look()
        pane.show(*PROMPT)

        assert await wait_ready(session, LIMITS) == "ready"
        assert pane.inputs == []


@pytest.mark.contract("S5", "A5")
async def test_a_dialog_that_redraws_slowly_is_confirmed_once_so_the_next_one_is_not_answered(bench: Bench) -> None:
    async with bench.observed() as (session, pane), anyio.create_task_group() as group:
        session.bridge_is_up()
        first = bench.dialog(pane, "news", ("Continue", "Quit"))
        first.redraws = False

        async def draw_the_next() -> None:
            await anyio.sleep(5)
            bench.dialog(pane, "bypass", ("Yes, bypass", "No"))

        group.start_soon(draw_the_next)

        assert await wait_ready(session, LIMITS) == "blocked"
        assert session.status.detail == "bypass"
        assert pane.inputs == [Pressed("Enter")]


@pytest.mark.contract("S5")
async def test_a_dialog_that_never_goes_away_blocks_after_a_bounded_number_of_keys(bench: Bench) -> None:
    async with bench.observed() as (session, pane):
        bench.dialog(pane, "news", ("Quit", "Continue")).next_screen = ("[dialog news]", "- Quit", "* Continue")

        assert await wait_ready(session, LIMITS) == "blocked"
        assert len(pane.inputs) == MOST_DIALOG_STEPS
