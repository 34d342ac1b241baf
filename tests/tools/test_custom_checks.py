"""Asking a custom tool whether an earlier call happened: an answer, or an honest `cannot_tell`."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from mcp_agent.tools.custom import CallContext, EarlierCall, Verdict, tool

pytestmark = pytest.mark.anyio

BOUND_SECONDS = 30.0


@pytest.fixture
def context(tmp_path: Path) -> CallContext:
    return CallContext("call_1", "s-1", tmp_path / "call_1", tmp_path, {}, None)


@pytest.fixture
def hung() -> Iterator[threading.Event]:
    """What a check in a thread hangs on, until the test is over."""
    event = threading.Event()
    yield event
    event.set()


async def verdict(check: Any, context: CallContext) -> Verdict:
    found = await asked(check, context)
    assert found is not None
    return found


async def asked(check: Any, context: CallContext) -> Verdict | None:
    @tool(check=check)
    def publish(name: str, mode: str = "draft") -> None: ...

    with anyio.fail_after(BOUND_SECONDS):
        return await publish.check("call_0", context, publish.validate({"name": "a"}))


async def test_a_tool_without_a_check_has_nothing_to_say(context: CallContext) -> None:
    assert await asked(None, context) is None


async def happened(call: EarlierCall) -> str:
    return "happened" if (call.call_id, call.arguments) == ("call_0", {"name": "a", "mode": "draft"}) else "cannot_tell"


@pytest.mark.parametrize(
    ("check", "found"),
    [
        (happened, Verdict("happened")),
        (lambda _: "did_not_happen", Verdict("did_not_happen")),
        (lambda _: Verdict("happened", "page 7"), Verdict("happened", "page 7")),
        (lambda _: 1 / 0, Verdict("cannot_tell", "the check raised ZeroDivisionError: division by zero")),
    ],
)
async def test_a_check_says_what_it_found(check: Any, found: Verdict, context: CallContext) -> None:
    assert await verdict(check, context) == found


@pytest.mark.parametrize("nonsense", [None, True, "yes", Verdict("maybe"), object()])  # type: ignore[arg-type]
async def test_a_check_that_says_something_else_cannot_tell(nonsense: object, context: CallContext) -> None:
    found = await verdict(lambda _: nonsense, context)

    assert found.evidence == "cannot_tell"
    assert "happened, did_not_happen, cannot_tell" in found.detail


async def test_a_check_that_exits_cannot_tell(context: CallContext) -> None:
    def leave(call: EarlierCall) -> str:
        raise SystemExit(1)

    assert (await verdict(leave, context)).evidence == "cannot_tell"


async def test_a_cancelled_check_is_cancelled(context: CallContext, hung: threading.Event) -> None:
    started = threading.Event()

    def slow(call: EarlierCall) -> str:
        started.set()
        hung.wait()
        return "happened"

    found: list[Verdict] = []
    async with anyio.create_task_group() as group:

        async def ask() -> None:
            found.append(await verdict(slow, context))

        group.start_soon(ask)
        assert await anyio.to_thread.run_sync(started.wait, BOUND_SECONDS)
        group.cancel_scope.cancel()

    assert found == []
