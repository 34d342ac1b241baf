"""The watchdog in virtual time: hours of waiting, none of them real."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
import pytest
from trio.testing import MockClock

from mcp_agent.calls.outcomes import Answered, Cancelled, Raised, StoppedWaiting

if TYPE_CHECKING:
    from mcp_agent.calls.outcomes import Outcome
    from mcp_agent.calls.watchdog import SlowCall
    from tests.calls.conftest import Watch

pytestmark = pytest.mark.anyio

HOUR = 3600.0
NOT_FOUND = LookupError("no such article")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


class WorkOf:
    """Work that takes its time, and remembers how it went."""

    def __init__(self, seconds: float, error: Exception | None) -> None:
        self.seconds, self.error = seconds, error
        self.events: list[str] = []

    async def __call__(self) -> str:
        self.events.append("started")
        try:
            await anyio.sleep(self.seconds)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await anyio.sleep(1)
            self.events.append("cleaned up")
            raise
        if self.error:
            raise self.error
        self.events.append("finished")
        return "done"


def answer_after(seconds: float) -> WorkOf:
    return WorkOf(seconds, None)


def raise_after(seconds: float) -> WorkOf:
    return WorkOf(seconds, NOT_FOUND)


async def test_an_answer_passes_through_unchanged(watched: Watch) -> None:
    async with anyio.create_task_group() as owner:
        assert await watched(owner, answer_after(1)) == Answered("done")
    assert watched.late == []


async def test_what_the_work_raises_is_the_outcome(watched: Watch) -> None:
    async with anyio.create_task_group() as owner:
        assert await watched(owner, raise_after(1)) == Raised(NOT_FOUND)
    assert watched.late == []


@pytest.mark.parametrize(
    "error", [RuntimeError("boom"), SystemExit(3), TimeoutError("inside"), ExceptionGroup("g", [OSError()])]
)
async def test_work_that_raises_at_once_takes_nothing_else_down(watched: Watch, error: BaseException) -> None:
    async def work() -> str:
        raise error

    async with anyio.create_task_group() as owner:
        assert await watched(owner, work) == Raised(error)


@pytest.mark.contract("W2", "W3")
async def test_the_default_of_fifteen_minutes_ends_the_wait_and_not_the_work(watched: Watch) -> None:
    work = answer_after(HOUR)
    async with anyio.create_task_group() as owner:
        outcome = await watched(owner, work)
        assert work.events == ["started"]
    assert isinstance(outcome, StoppedWaiting)
    assert (outcome.waited_seconds, outcome.limit_seconds, outcome.layer) == (900, 900, "tool_wait")
    assert work.events == ["started", "finished"]


async def test_a_late_success_is_told_once(watched: Watch) -> None:
    async with anyio.create_task_group() as owner:
        await watched(owner, answer_after(HOUR))
        assert watched.late == []
    assert watched.late == [Answered("done")]


async def test_a_late_failure_is_told_once_and_not_raised(watched: Watch) -> None:
    async with anyio.create_task_group() as owner:
        await watched(owner, raise_after(HOUR))
    assert watched.late == [Raised(NOT_FOUND)]


@pytest.mark.parametrize("listen", ["raise", "hang"])
async def test_a_listener_to_late_outcomes_that_misbehaves_changes_nothing(
    watched: Watch, listen: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def on_late(_outcome: Outcome[str]) -> None:
        if listen == "raise":
            raise OSError("disk full")
        await anyio.sleep_forever()

    async with anyio.create_task_group() as owner:
        await watched(owner, answer_after(HOUR), on_late=on_late)
    assert ("a listener raised" in caplog.text) == (listen == "raise")


async def test_a_result_in_the_instant_of_the_deadline_is_a_result(watched: Watch) -> None:
    async with anyio.create_task_group() as owner:
        outcome = await watched(owner, answer_after(900))
    assert [type(outcome), *map(type, watched.late)] in ([Answered], [StoppedWaiting, Answered])


# --- slow calls ---


@pytest.mark.contract("W1")
async def test_a_slow_call_is_reported_once_while_it_goes_on(watched: Watch) -> None:
    work = answer_after(600)
    heard: list[list[str]] = []

    async def on_slow(call: SlowCall) -> None:
        heard.append(list(work.events))
        await watched.on_slow(call)

    async with anyio.create_task_group() as owner:
        assert await watched(owner, work, on_slow=on_slow) == Answered("done")
    assert heard == [["started"]]
    (slow,) = watched.slow
    assert (slow.call_id, slow.tool, slow.session_id) == ("call_1", "publish", "s-1")
    assert (slow.elapsed_seconds, slow.limit_seconds) == (60, 900)


@pytest.mark.contract("W1")
@pytest.mark.parametrize("limit_seconds", [30, 60])
async def test_a_call_whose_limit_is_not_beyond_the_slow_mark_is_never_slow(
    watched: Watch, limit_seconds: float
) -> None:
    async with anyio.create_task_group() as owner:
        await watched(owner, answer_after(HOUR), timedelta(seconds=limit_seconds))
    assert watched.slow == []


async def test_a_fast_call_is_never_slow(watched: Watch) -> None:
    async with anyio.create_task_group() as owner:
        await watched(owner, answer_after(59))
    assert watched.slow == []


@pytest.mark.contract("W1")
@pytest.mark.parametrize("seconds", [600, HOUR])
async def test_a_reporter_that_raises_changes_nothing(watched: Watch, seconds: float) -> None:
    async def on_slow(_call: SlowCall) -> None:
        raise OSError("gone")

    async with anyio.create_task_group() as owner:
        outcome = await watched(owner, answer_after(seconds), on_slow=on_slow)
    assert isinstance(outcome, Answered if seconds == 600 else StoppedWaiting)


@pytest.mark.contract("W1")
async def test_a_reporter_that_hangs_disables_neither_deadline_nor_result(watched: Watch) -> None:
    async def on_slow(_call: SlowCall) -> None:
        await anyio.sleep_forever()

    async with anyio.create_task_group() as owner:
        assert await watched(owner, answer_after(61), on_slow=on_slow) == Answered("done")
        outcome = await watched(owner, answer_after(HOUR), on_slow=on_slow)
    assert isinstance(outcome, StoppedWaiting)
    assert outcome.waited_seconds == 900


async def test_a_stop_during_a_hanging_reporter_is_not_lost(watched: Watch) -> None:
    async def on_slow(_call: SlowCall) -> None:
        await anyio.sleep_forever()

    work = answer_after(HOUR)
    async with anyio.create_task_group() as owner:
        with anyio.move_on_after(61) as scope:
            await watched(owner, work, on_slow=on_slow)
    assert scope.cancelled_caught
    assert work.events == ["started", "cleaned up"]


# --- limits ---


@pytest.mark.contract("W2")
async def test_no_limit_overflows(watched: Watch) -> None:
    async with anyio.create_task_group() as owner:
        for limit in (timedelta(days=30), timedelta.max):
            outcome = await watched(owner, answer_after(25 * HOUR), limit, work_limit=timedelta.max)
            assert outcome == Answered("done")


async def test_a_wait_of_milliseconds_does_not_read_as_zero(watched: Watch) -> None:
    async with anyio.create_task_group() as owner:
        outcome = await watched(owner, answer_after(1), timedelta(milliseconds=40))
    assert isinstance(outcome, StoppedWaiting)
    assert outcome.structured()["waited_seconds"] == 0.04
    assert "elapsed=0.04s" in outcome.text()


@pytest.mark.contract("C4")
async def test_work_that_overruns_its_own_limit_is_cancelled_and_cleaned_up(watched: Watch) -> None:
    work = answer_after(HOUR)
    async with anyio.create_task_group() as owner:
        outcome = await watched(owner, work, work_limit=timedelta(minutes=10))
        assert work.events == ["started", "cleaned up"]
    assert isinstance(outcome, Cancelled)
    assert (outcome.layer, outcome.owner, outcome.limit_seconds, outcome.elapsed_seconds) == (
        "server_tool",
        "server",
        600,
        601,
    )
    assert watched.late == []


@pytest.mark.contract("C4")
async def test_the_limit_of_the_work_holds_when_nobody_waits_any_more(watched: Watch) -> None:
    work = answer_after(10 * HOUR)
    async with anyio.create_task_group() as owner:
        outcome = await watched(owner, work, work_limit=timedelta(minutes=90))
    assert isinstance(outcome, StoppedWaiting)
    assert outcome.work_limit_seconds == 5400
    (late,) = watched.late
    assert isinstance(late, Cancelled)
    assert (late.layer, late.limit_seconds) == ("server_tool", 5400)


async def test_trouble_while_cleaning_up_does_not_hide_the_cancellation(watched: Watch) -> None:
    async def work() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            raise OSError("cannot remove")
        return ""

    async with anyio.create_task_group() as owner:
        outcome = await watched(owner, work, work_limit=timedelta(seconds=1))
    assert isinstance(outcome, Cancelled)
    assert isinstance(outcome.cleanup_error, OSError)
    assert "cannot remove" in outcome.text()


# --- stops ---


async def test_work_of_an_already_cancelled_caller_never_starts(watched: Watch) -> None:
    work = answer_after(1)
    async with anyio.create_task_group() as owner:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await watched(owner, work)
    assert work.events == []


async def test_work_whose_caller_is_cancelled_before_its_first_step_never_starts(watched: Watch) -> None:
    work = answer_after(1)
    async with anyio.create_task_group() as owner, anyio.create_task_group() as request:

        async def call() -> None:
            await watched(owner, work)

        request.start_soon(call)
        request.cancel_scope.cancel()
    assert work.events == []


@pytest.mark.contract("C6")
async def test_a_cancelled_caller_waits_for_the_clean_up_and_stays_cancelled(watched: Watch) -> None:
    work = answer_after(HOUR)
    async with anyio.create_task_group() as owner:
        with anyio.move_on_after(20) as scope:
            await watched(owner, work)
        assert work.events == ["started", "cleaned up"]
    assert scope.cancelled_caught
    (late,) = watched.late
    assert isinstance(late, Cancelled)
    assert (late.layer, late.owner, late.limit_seconds) == ("cancel", "caller", None)


async def test_a_stop_in_the_instant_of_the_deadline_wins(watched: Watch) -> None:
    work = answer_after(HOUR)
    async with anyio.create_task_group() as owner:
        with anyio.move_on_after(900) as scope:
            await watched(owner, work)
    assert scope.cancelled_caught
    assert work.events == ["started", "cleaned up"]


@pytest.mark.contract("C6")
async def test_a_stop_in_the_instant_of_a_result_wins_and_the_result_is_told(watched: Watch) -> None:
    async def work() -> str:
        await anyio.sleep(1)
        scope.cancel()
        return "done"

    async with anyio.create_task_group() as owner:
        with anyio.CancelScope() as scope:
            await watched(owner, work)
    assert scope.cancelled_caught
    assert watched.late == [Answered("done")]


async def test_clean_up_that_hangs_holds_a_cancelled_caller_up_for_half_a_minute_only(
    watched: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    release = anyio.Event()

    async def work() -> str:
        with anyio.CancelScope(shield=True):
            await release.wait()
        return "after all"

    with caplog.at_level(logging.WARNING):
        async with anyio.create_task_group() as owner:
            started = anyio.current_time()
            with anyio.move_on_after(20):
                await watched(owner, work)
            assert anyio.current_time() - started == pytest.approx(50)
            release.set()
    assert "clean-up" in caplog.text
    assert watched.late == [Answered("after all")]


async def test_cancelling_the_owner_ends_work_that_nobody_waits_for(watched: Watch) -> None:
    work = answer_after(10 * HOUR)
    async with anyio.create_task_group() as owner:
        await watched(owner, work)
        owner.cancel_scope.cancel()
    assert work.events == ["started", "cleaned up"]
    (late,) = watched.late
    assert isinstance(late, Cancelled)


async def test_a_caller_outside_a_cancelled_owner_hears_that_the_work_was_cancelled(watched: Watch) -> None:
    outcomes: list[Outcome[str]] = []
    async with anyio.create_task_group() as requests, anyio.create_task_group() as owner:

        async def call() -> None:
            outcomes.append(await watched(owner, answer_after(HOUR)))

        requests.start_soon(call)
        await anyio.sleep(10)
        owner.cancel_scope.cancel()
    (outcome,) = outcomes
    assert isinstance(outcome, Cancelled)
    assert outcome.layer == "cancel"


async def test_calls_do_not_disturb_each_other(watched: Watch) -> None:
    outcomes: dict[int, Outcome[str]] = {}
    async with anyio.create_task_group() as owner, anyio.create_task_group() as requests:

        async def call(number: int) -> None:
            outcomes[number] = await watched(owner, answer_after(number), timedelta(seconds=50))

        for number in range(1, 101):
            requests.start_soon(call, number)
    assert sum(isinstance(outcome, Answered) for outcome in outcomes.values()) in {49, 50}
    assert len(watched.late) == sum(isinstance(outcome, StoppedWaiting) for outcome in outcomes.values())
