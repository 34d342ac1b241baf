"""A provider's limit: when it ends, and an offer of the CLI's that stands where the prompt should be."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mcp_agent.adapter import (
    Blocked,
    Dialog,
    DialogAnswer,
    LimitedBy,
    PromptAccepted,
    Ready,
    TurnEnded,
    TurnOutcome,
)
from mcp_agent.sessions.input.sending import send
from mcp_agent.sessions.signals import BridgeUp, SessionSignal, SessionState, Status, reduce

if TYPE_CHECKING:
    from mcp_agent.tmux.memory import Input
    from tests.sessions.conftest import Bench

RESETS_AT = datetime(2026, 12, 1, tzinfo=UTC)
OFFER = Blocked(Dialog("offer", ("Other", "Same"), answer=DialogAnswer("Same", needs="nothing")))
TRUST = Blocked(Dialog("trust", ("Yes", "No"), answer=DialogAnswer("Yes", needs="trust")))
FAILED = TurnEnded(TurnOutcome.FAILED)
IDLE: tuple[SessionSignal, ...] = (BridgeUp(), Ready(), PromptAccepted("do it"))


def after(*signals: SessionSignal) -> Status:
    status = Status()
    for signal in signals:
        status = reduce(status, signal)
    return status


@pytest.mark.contract("S3")
@pytest.mark.parametrize("told", [(RESETS_AT, None), (None, RESETS_AT)])
def test_a_limit_that_is_told_twice_ends_when_either_says(told: tuple[datetime | None, datetime | None]) -> None:
    status = after(*IDLE, FAILED, *(LimitedBy("usage", each) for each in told))

    assert (status.state, status.detail, status.resets_at) == (SessionState.LIMITED, "usage", RESETS_AT)


@pytest.mark.contract("S3")
def test_another_kind_of_limit_ends_at_its_own_time() -> None:
    assert after(*IDLE, FAILED, LimitedBy("usage", RESETS_AT), LimitedBy("rate")).resets_at is None


@pytest.mark.contract("S3", "S5")
@pytest.mark.parametrize(
    ("signals", "state"),
    [
        ((*IDLE, OFFER), SessionState.BUSY),
        ((*IDLE, LimitedBy("usage"), FAILED, OFFER), SessionState.LIMITED),
        ((*IDLE, FAILED, OFFER), SessionState.BLOCKED),
        ((OFFER,), SessionState.BLOCKED),
        ((*IDLE, TRUST), SessionState.WAITING),
        ((*IDLE, LimitedBy("usage"), FAILED, TRUST), SessionState.BLOCKED),
    ],
)
def test_only_an_offer_that_needs_nobody_lets_a_limit_or_a_turn_show(
    signals: tuple[SessionSignal, ...], state: SessionState
) -> None:
    assert after(*signals).state is state


@pytest.mark.anyio
@pytest.mark.contract("S5", "I1")
async def test_an_offer_in_the_way_of_a_prompt_is_declined_by_its_label(bench: Bench) -> None:
    async with bench.ready() as (session, cli):
        dialog = bench.dialog(cli.pane, "news", ("Other", "Continue"))

        def take(received: Input) -> None:
            dialog.take(received)
            if dialog.chosen:
                cli.pane.on_input = cli.take
                cli.draw()

        cli.pane.on_input = take
        await session.look()
        assert session.state is SessionState.BLOCKED

        await send(session, "hello")
        assert (dialog.chosen, cli.submitted) == (["Continue"], ["hello"])
