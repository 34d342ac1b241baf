"""Silent custom tools under their limits: hours pass, none of them real."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from trio.testing import MockClock

from mcp_agent.calls.outcomes import Cancelled, Outcome, StoppedWaiting
from mcp_agent.calls.watchdog import watch
from mcp_agent.tools.custom import CallContext, CustomTool, EarlierCall, Verdict, tool
from mcp_agent.tools.custom_errors import ThreadAbandoned

pytestmark = pytest.mark.anyio

WORK_LIMIT = timedelta(minutes=90)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, object]]:
    return "trio", {"clock": MockClock(autojump_threshold=0)}


@pytest.fixture
def context(tmp_path: Path) -> CallContext:
    return CallContext("call_1", "s-1", tmp_path / "call_1", tmp_path, {}, WORK_LIMIT)


@pytest.fixture
def hung() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


async def watched(custom: CustomTool[..., Any], context: CallContext, *, limit: timedelta) -> list[Outcome[Any]]:
    """What the caller got, and what came late."""
    outcomes: list[Outcome[Any]] = []

    async def late(outcome: Outcome[Any]) -> None:
        outcomes.append(outcome)

    async with anyio.create_task_group() as owner:
        outcomes.append(
            await watch(
                owner,
                lambda: custom.run(context, custom.validate({})),
                call_id="call_1",
                tool=custom.name,
                session_id="s-1",
                limit=limit,
                work_limit=WORK_LIMIT,
                on_late=late,
            )
        )
    return outcomes


@pytest.mark.contract("C4", "T8")
async def test_a_silent_tool_that_overruns_the_works_limit_is_cancelled_and_cleaned_up(context: CallContext) -> None:
    events: list[object] = []

    @tool
    async def silent() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(5)
            events.append("cleaned up")

    (outcome,) = await watched(silent, context, limit=timedelta(hours=2))

    assert isinstance(outcome, Cancelled)
    assert (outcome.layer, outcome.limit_seconds, outcome.elapsed_seconds) == ("server_tool", 5400.0, 5405.0)
    assert events == ["cleaned up"]


@pytest.mark.contract("C4")
async def test_a_silent_tool_that_nobody_waits_for_any_more_is_cancelled_by_the_works_limit(
    context: CallContext,
) -> None:
    @tool
    async def silent() -> None:
        await anyio.sleep_forever()

    waited, late = await watched(silent, context, limit=timedelta(minutes=15))

    assert isinstance(waited, StoppedWaiting)
    assert isinstance(late, Cancelled)
    assert late.layer == "server_tool"


async def test_a_hung_thread_is_let_go_of_at_the_works_limit_and_said_to_run(
    context: CallContext, hung: threading.Event
) -> None:
    @tool
    def silent() -> None:
        hung.wait()

    (outcome,) = await watched(silent, context, limit=timedelta(hours=2))

    assert isinstance(outcome, Cancelled)
    assert isinstance(outcome.cleanup_error, ThreadAbandoned)


@pytest.mark.parametrize("kind", ["async", "thread"])
async def test_a_check_that_hangs_cannot_tell(context: CallContext, hung: threading.Event, kind: str) -> None:
    async def hangs(call: EarlierCall) -> str:
        await anyio.sleep_forever()
        return "happened"

    def hangs_in_a_thread(call: EarlierCall) -> str:
        hung.wait()
        return "happened"

    @tool(check=hangs if kind == "async" else hangs_in_a_thread)
    def publish() -> None: ...

    found = await publish.check("call_0", context, {})

    assert found == Verdict("cannot_tell", "the check had no answer within 5 s")
