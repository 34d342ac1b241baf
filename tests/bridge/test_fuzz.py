"""Whatever comes in on stdin, the bridge goes on, writes nothing but answers to it, and leaves at its end.

50 examples each in the normal run; `nox -s long` takes 2000, which is minutes.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.bridge.conftest import Bridge, FakeServer

pytestmark = pytest.mark.contract("B3", "B4")

LAST = "the last request of this example"

AWKWARD = st.sampled_from(
    [
        b"",
        b"{",
        b"\x00",
        b"\xff\xfe",
        b"\xef\xbb\xbf{}",
        b"\r",
        b"[" * 5_000,
        b'{"a":' * 5_000,
        b"1" * 5_000,
        b'"\\ud800"',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}' * 2,
        b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 4_000 + b',"method":"ping"}',
    ]
)
LINES = st.lists(AWKWARD | st.binary(max_size=300), max_size=8)

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
DEEP = st.integers(1, 900).map(lambda depth: json.loads("[" * depth + "]" * depth))
IDS = st.sampled_from([0, 1, -1, 2**53, 2**64, "", "0", "1", "\u2028", "x" * 2_000])
METHODS = st.sampled_from(["initialize", "ping", "tools/list", "tools/call", "server/discover", "", "x" * 5_000])
TOOLS = st.sampled_from(
    ["echo", "slow", "patient", "nobody", "", "a b\nc", "\ud800".encode("utf-8", "replace").decode()]
)
META = st.fixed_dictionaries({}, optional={"progressToken": IDS | ANYTHING, "io.example/odd": ANYTHING})
CALLS = st.fixed_dictionaries(
    {"name": TOOLS | ANYTHING},
    optional={"arguments": st.dictionaries(st.text(max_size=6), ANYTHING | DEEP, max_size=3) | ANYTHING, "_meta": META},
)
REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": IDS, "method": METHODS}, optional={"params": CALLS | ANYTHING, "odd": ANYTHING}
)
TOOL_CALLS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": IDS, "method": st.just("tools/call"), "params": CALLS}
)
CANCELS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.just("notifications/cancelled")},
    optional={
        "params": st.fixed_dictionaries({}, optional={"requestId": IDS | ANYTHING, "reason": ANYTHING}) | ANYTHING
    },
)
ILL_FORMED = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2, None]),
        "id": IDS | ANYTHING,
        "method": METHODS | ANYTHING,
        "params": ANYTHING,
        "result": ANYTHING,
        "error": ANYTHING,
    },
)
MESSAGES = st.lists(TOOL_CALLS | REQUESTS | CANCELS | ILL_FORMED, max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(lines=LINES, unfinished=st.binary(max_size=20))
def test_no_bytes_stop_it_from_answering_and_leaving(
    server: FakeServer, start: Callable[..., Bridge], lines: list[bytes], unfinished: bytes
) -> None:
    bridge = start()
    for line in lines:
        bridge.write(line)

    assert bridge.ask("ping", request_id=LAST)["result"] == {}
    assert bridge.process.stdin is not None
    bridge.process.stdin.write(unfinished)
    assert leaves_well(bridge)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(messages=MESSAGES, progress=st.booleans())
def test_no_messages_stop_it_from_answering_and_leaving(
    server: FakeServer, start: Callable[..., Bridge], messages: list[dict[str, Any]], progress: bool
) -> None:
    bridge = start(progress_seconds=0.001 if progress else None)
    for message in messages:
        bridge.write(json.dumps(message).encode())

    assert bridge.ask("ping", request_id=LAST)["result"] == {}
    assert leaves_well(bridge)
    answered = Counter(key(message["id"]) for message in bridge.messages if "method" not in message)
    assert answered <= asked(messages), "an answer that nobody waits for"


def leaves_well(bridge: Bridge) -> bool:
    status = bridge.end()
    bridge.kill()  # it has ended; this closes our ends of its pipes
    return status == 0 and not bridge.garbage


def asked(messages: Sequence[dict[str, Any]]) -> Counter[str]:
    """How many answers each id may get at most; what has no id that could be read is answered under null."""
    ids: Counter[str] = Counter()
    for message in messages:
        ids[key(None)] += 1
        with suppress(KeyError):
            ids[key(message["id"])] += 1
    return ids


def key(request_id: object) -> str:
    """Tells 1 from true and from "1"."""
    return json.dumps(request_id)
