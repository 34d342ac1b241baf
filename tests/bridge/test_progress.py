"""Progress notifications: only where the session asks for them and the client gave a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bridge.conftest import Bridge, FakeServer, Json


def progress(bridge: Bridge) -> list[Json]:
    return [message["params"] for message in bridge.messages if message.get("method") == "notifications/progress"]


def call(bridge: Bridge, request_id: int, tool: str, token: object) -> None:
    bridge.send("tools/call", {"name": tool, "_meta": {"progressToken": token}}, id=request_id)


@pytest.mark.contract("T5")
@pytest.mark.parametrize("token", ["token-7", 7, 0, ""])
def test_a_pending_call_with_a_token_is_reported_again_and_again(
    server: FakeServer, start: Callable[..., Bridge], token: object
) -> None:
    bridge = start(progress_seconds=0.05)
    call(bridge, 1, "slow", token)
    assert bridge.wait_until(lambda: len(progress(bridge)) >= 3)
    bridge.send("notifications/cancelled", {"requestId": 1})

    reported = progress(bridge)
    assert [params["progress"] for params in reported[:3]] == [1, 2, 3]
    assert all(
        params["progressToken"] == token and set(params) == {"progressToken", "progress", "message"}
        for params in reported
    )
    assert reported[0]["message"] == "slow still running (0s)"


@pytest.mark.contract("T5")
def test_nothing_is_reported_after_the_cancel(server: FakeServer, start: Callable[..., Bridge]) -> None:
    bridge = start(progress_seconds=0.01)
    call(bridge, 1, "slow", "cancelled")
    assert bridge.wait_until(lambda: len(progress(bridge)) >= 2)
    bridge.send("notifications/cancelled", {"requestId": 1})
    assert bridge.lives()
    before = len(bridge.raw)
    for number in range(20):
        bridge.ask("ping", request_id=number)

    assert len(bridge.raw) == before + 20


@pytest.mark.contract("T5")
@pytest.mark.parametrize(
    "params", [{}, {"_meta": {}}, {"_meta": {"progressToken": None}}, {"_meta": {"progressToken": [1]}}, {"_meta": 5}]
)
def test_a_call_without_a_usable_token_is_never_reported(
    server: FakeServer, start: Callable[..., Bridge], params: Json
) -> None:
    bridge = start(progress_seconds=0.01, limits={"ordinary_seconds": 0.3, "long_running_seconds": 0.3})
    bridge.send("tools/call", {"name": "slow"} | params, id=1)

    assert bridge.text(1).startswith("TIMEOUT:")
    assert bridge.messages == []


@pytest.mark.contract("T5")
def test_a_session_without_progress_reports_nothing_whatever_the_client_gave(
    server: FakeServer, start: Callable[..., Bridge]
) -> None:
    bridge = start(limits={"ordinary_seconds": 0.3, "long_running_seconds": 0.3})
    call(bridge, 1, "slow", "token")

    assert bridge.text(1).startswith("TIMEOUT:")
    assert bridge.messages == []


@pytest.mark.contract("T5")
def test_progress_extends_no_limit_of_ours(server: FakeServer, start: Callable[..., Bridge]) -> None:
    bridge = start(progress_seconds=0.05, limits={"ordinary_seconds": 0.3, "long_running_seconds": 0.3})
    call(bridge, 1, "slow", "token")

    assert bridge.text(1).startswith("TIMEOUT: layer=bridge_http")
    assert progress(bridge)
