"""What the bridge says to well-formed, ill-formed and hostile lines, before any server is involved."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bridge.conftest import Bridge, FakeServer


def error_code(message: dict[str, dict[str, int]]) -> int:
    return message["error"]["code"]


@pytest.mark.contract("B1")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_known_protocol_version_is_echoed(bridge: Bridge, version: str) -> None:
    result = bridge.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"x": 1}})[
        "result"
    ]

    assert result["protocolVersion"] == version
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert result["serverInfo"]["name"] == "api-bridge"


@pytest.mark.contract("B1")
@pytest.mark.parametrize("params", [{"protocolVersion": "2099-01-01"}, {"protocolVersion": ["x"]}, {}, None])
def test_an_unknown_protocol_version_gets_the_newest_known_one(bridge: Bridge, params: object) -> None:
    assert bridge.ask("initialize", params)["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.contract("B1")
@pytest.mark.parametrize("method", ["server/discover", "resources/list", "prompts/list", "logging/setLevel", ""])
def test_a_method_that_does_not_exist_is_refused_and_the_handshake_goes_on(bridge: Bridge, method: str) -> None:
    assert error_code(bridge.ask(method)) == -32601
    assert "result" in bridge.ask("initialize", {"protocolVersion": "2025-11-25"})


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"ping\xff"}',
        b'\xff\xfe{\x00"\x00',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e999}}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
        b"[" * 100_000,
    ],
    ids=["cut", "words", "latin", "utf16", "bom", "nan", "infinite", "long-integer", "deep"],
)
def test_a_line_that_is_not_utf8_json_is_a_parse_error_without_id(bridge: Bridge, line: bytes) -> None:
    bridge.write(line)

    assert error_code(bridge.answer(None)) == -32700
    assert bridge.lives()


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "message",
    [
        [],
        [{"jsonrpc": "2.0", "id": 1, "method": "ping"}],
        "ping",
        7,
        None,
        {},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": {}, "method": "ping"},
        {"jsonrpc": "1.0", "method": "ping"},
        {"jsonrpc": "2.0", "method": 5},
    ],
    ids=str,
)
def test_json_that_is_no_request_is_an_invalid_request(bridge: Bridge, message: object) -> None:
    bridge.write(json.dumps(message).encode())

    assert error_code(bridge.answer(None)) == -32600
    assert bridge.lives()


@pytest.mark.contract("B3")
def test_an_invalid_request_is_answered_under_its_id_when_that_can_be_read(bridge: Bridge) -> None:
    bridge.write(b'{"id": "mine"}')

    assert error_code(bridge.answer("mine")) == -32600


@pytest.mark.contract("B3")
def test_unknown_fields_are_ignored(bridge: Bridge) -> None:
    bridge.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","future":[1],"params":{"_meta":{"x":1},"y":2}}')

    assert bridge.answer(1)["result"] == {}


@pytest.mark.contract("B3")
@pytest.mark.parametrize("params", [[], "x", 5])
def test_params_that_are_no_object_are_invalid(bridge: Bridge, params: object) -> None:
    assert error_code(bridge.ask("ping", params)) == -32602


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "params",
    [{}, {"name": 5}, {"name": ""}, {"name": "echo", "arguments": [1]}, {"name": "echo", "arguments": "x"}],
    ids=str,
)
def test_a_call_with_bad_params_is_refused_and_never_reaches_the_server(
    bridge: Bridge, server: FakeServer, params: object
) -> None:
    assert error_code(bridge.ask("tools/call", params)) == -32602
    assert server.asked == []


@pytest.mark.contract("B3")
def test_notifications_responses_and_blank_lines_are_never_answered(bridge: Bridge) -> None:
    for line in (
        b"",
        b"  ",
        b"\r",
        b'{"jsonrpc":"2.0","id":3,"result":{}}',
        b'{"jsonrpc":"2.0","id":3,"error":{"code":1}}',
    ):
        bridge.write(line)
    for method in ("notifications/initialized", "notifications/cancelled", "notifications/future", "ping"):
        bridge.send(method)
    bridge.send("notifications/cancelled", {"requestId": [1]})
    bridge.send("notifications/cancelled", {"requestId": True})

    assert bridge.lives()
    assert bridge.end() == 0
    assert bridge.messages == []


@pytest.mark.contract("B3")
def test_a_line_of_32_mib_is_handled(bridge: Bridge) -> None:
    padding = b"x" * (32 * 1024 * 1024)
    bridge.write(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"padding":"' + padding + b'"}}')

    assert bridge.answer(1)["result"] == {}


@pytest.mark.contract("B3")
def test_a_line_beyond_the_bound_is_refused_and_skipped_as_a_whole(bridge: Bridge) -> None:
    bridge.write(b"x" * (65 * 1024 * 1024))

    assert error_code(bridge.answer(None)) == -32600
    assert bridge.lives()
    assert bridge.end() == 0
    assert bridge.messages == []


@pytest.mark.contract("B3")
def test_ids_of_both_kinds_come_back_as_they_were(bridge: Bridge) -> None:
    for request_id in (0, -1, 2**63, "", "1", "ü漢🎉", "line\u2028break"):
        assert bridge.ask("ping", request_id=request_id)["id"] == request_id


@pytest.mark.contract("B3")
def test_one_message_is_one_line_even_for_readers_that_split_at_unicode_line_breaks(bridge: Bridge) -> None:
    bridge.ask("ping", request_id="a\u2028b\u2029c\u0085d")

    [line] = bridge.raw
    assert line.decode().splitlines(keepends=True) == [line.decode()]


GARBAGE = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=100).map(lambda text: text.encode("utf-8", "replace")),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries(
        {"jsonrpc": st.sampled_from(["2.0", 2, None])},
        optional={
            "id": st.none() | st.integers() | st.text(max_size=5) | st.floats() | st.lists(st.integers(), max_size=2),
            "method": st.sampled_from(["ping", "initialize", "notifications/cancelled", "x", 1, None]),
            "params": st.none() | st.lists(st.integers(), max_size=2) | st.dictionaries(st.text(max_size=3), st.none()),
            "result": st.none(),
        },
    ).map(lambda value: json.dumps(value).encode()),
)


@pytest.mark.contract("B3")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(GARBAGE.map(lambda line: line.replace(b"\n", b" ")), min_size=1, max_size=5))
def test_no_line_ends_the_bridge_or_makes_it_write_anything_but_messages(
    one_bridge: Bridge, lines: list[bytes]
) -> None:
    for line in lines:
        one_bridge.write(line)

    assert one_bridge.ask("ping", request_id="after the garbage")["result"] == {}
    assert one_bridge.garbage == []


@pytest.fixture
def one_bridge(start: Callable[..., Bridge]) -> Bridge:
    """A bridge without a server, kept for all the examples of one test."""
    return start()
