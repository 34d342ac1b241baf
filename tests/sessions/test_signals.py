"""The one reducer: which signals lead to which state."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent.adapter import (
    Blocked,
    Busy,
    Dialog,
    LimitedBy,
    PromptAccepted,
    Ready,
    SessionIdentified,
    TurnEnded,
    TurnOutcome,
    Waiting,
)
from mcp_agent.sessions.signals import (
    ENDED,
    BridgeUp,
    Exited,
    Seen,
    SessionSignal,
    SessionState,
    Status,
    Stopped,
    Vanished,
    reduce,
)

TRUST = Blocked(Dialog("trust"))
ACCEPTED = PromptAccepted("do it")
COMPLETED = TurnEnded(TurnOutcome.COMPLETED)
FAILED = TurnEnded(TurnOutcome.FAILED)
UP = BridgeUp()

ANY_SIGNAL: st.SearchStrategy[SessionSignal] = st.sampled_from(
    [
        *(Ready(), Busy(), Waiting("permission"), TRUST, LimitedBy("rate"), SessionIdentified("n"), ACCEPTED),
        *(COMPLETED, FAILED, UP, Exited(1, None), Vanished(), Stopped()),
        *(Seen(), Seen((Ready(), Busy())), Seen((Waiting("question"), Ready()))),
    ]
)


def after(*signals: SessionSignal) -> Status:
    status = Status()
    for signal in signals:
        status = reduce(status, signal)
    return status


@pytest.mark.contract("S3", "B6")
@pytest.mark.parametrize(
    ("signals", "state", "detail"),
    [
        ((), "starting", None),
        ((Ready(),), "starting", None),
        ((UP,), "starting", None),
        ((Ready(), UP), "ready", None),
        ((UP, Busy()), "busy", None),
        ((TRUST,), "blocked", "trust"),
        ((UP, Ready(), ACCEPTED), "busy", None),
        ((UP, Ready(), ACCEPTED, Ready()), "busy", None),
        ((UP, Ready(), ACCEPTED, Waiting("permission")), "waiting", "permission"),
        ((UP, Ready(), ACCEPTED, TRUST), "waiting", "question"),
        ((UP, Ready(), ACCEPTED, COMPLETED), "ready", None),
        ((UP, Ready(), LimitedBy("usage")), "limited", "usage"),
        ((UP, Ready(), LimitedBy("usage"), ACCEPTED, FAILED), "ready", None),
        ((UP, Ready(), ACCEPTED, FAILED, LimitedBy("rate")), "limited", "rate"),
        ((UP, Ready(), ACCEPTED, LimitedBy("rate"), COMPLETED), "ready", None),
        ((UP, Ready(), Exited(3, None)), "exited", "status 3"),
        ((UP, Ready(), Exited(None, 9)), "exited", "signal 9"),
        ((UP, Ready(), Vanished()), "lost", None),
        ((Exited(0, None), Stopped()), "stopped", None),
        ((Vanished(), Stopped()), "stopped", None),
        ((Stopped(), Exited(0, None)), "stopped", None),
        ((Exited(0, None), Vanished()), "exited", "status 0"),
    ],
)
def test_a_state_follows_from_its_signals(signals: tuple[SessionSignal, ...], state: str, detail: str | None) -> None:
    status = after(*signals)

    assert (status.state, status.detail) == (state, detail)


@pytest.mark.contract("S3")
@pytest.mark.parametrize("strong", [Waiting("permission"), TRUST])
def test_a_question_on_the_screen_outranks_work_and_a_prompt_in_any_order(strong: Waiting | Blocked) -> None:
    for readings in ((strong, Busy(), Ready()), (Ready(), Busy(), strong)):
        assert after(UP, ACCEPTED, Seen(readings)).state is SessionState.WAITING


@pytest.mark.contract("S3")
def test_work_on_the_screen_outranks_a_prompt_in_any_order() -> None:
    assert after(UP, Seen((Ready(), Busy()))).state is SessionState.BUSY
    assert after(UP, Seen((Busy(), Ready()))).state is SessionState.BUSY


@pytest.mark.contract("S3")
def test_a_screen_that_says_nothing_takes_a_question_away_and_nothing_else() -> None:
    assert after(UP, Ready(), Seen()).state is SessionState.READY
    assert after(UP, ACCEPTED, Waiting("question"), Seen()).state is SessionState.BUSY
    assert after(TRUST, Seen()).dialog is None


@pytest.mark.contract("S3")
@given(st.lists(ANY_SIGNAL))
def test_only_an_accepted_prompt_starts_a_turn_and_only_its_end_or_the_sessions_ends_it(
    signals: list[SessionSignal],
) -> None:
    status, running = Status(), False
    for signal in signals:
        was_over = status.end is not None
        status = reduce(status, signal)
        match signal:
            case PromptAccepted() if not was_over:
                running = True
            case TurnEnded() | Stopped() | Exited() | Vanished():
                running = False
        assert status.turn_running == running


@pytest.mark.contract("S3")
@given(st.lists(ANY_SIGNAL), st.sampled_from([Exited(1, None), Vanished(), Stopped()]), st.lists(ANY_SIGNAL))
def test_an_end_is_final_but_for_a_stop(
    before: list[SessionSignal], end: Exited | Vanished | Stopped, later: list[SessionSignal]
) -> None:
    ended = after(*before, end)
    finally_ = after(*before, end, *later)

    assert ended.state in ENDED
    assert finally_.state in {ended.state, SessionState.STOPPED}
    assert (finally_.state is SessionState.STOPPED) == (
        any(isinstance(signal, Stopped) for signal in (*before, end, *later))
    )


@pytest.mark.contract("S3", "B6")
@given(st.lists(ANY_SIGNAL))
def test_ready_is_only_said_with_a_prompt_on_the_screen_and_the_bridge_up(signals: list[SessionSignal]) -> None:
    status = after(*signals)

    if status.state is SessionState.READY:
        assert status.bridge_up
        assert isinstance(status.reading, Ready)
        assert not status.turn_running
