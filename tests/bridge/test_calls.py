"""Tool calls: one request each, honest texts, and everything else answered meanwhile."""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.bridge.conftest import Asked, Bridge, FakeServer

LIMITS = {"ordinary_seconds": 0.5, "long_running_seconds": 0.8}


@pytest.mark.contract("B3", "B6")
def test_the_tool_list_is_the_servers_and_is_asked_for_every_time(bridge: Bridge, server: FakeServer) -> None:
    server.tools = [server.tool("echo", annotations={"readOnlyHint": True}), server.tool("other")]
    first = bridge.ask("tools/list")["result"]["tools"]
    server.tools = []
    second = bridge.ask("tools/list")["result"]["tools"]

    described = {"description": "Does echo.", "inputSchema": {"type": "object"}}
    assert first[0] == {"name": "echo", "annotations": {"readOnlyHint": True}} | described
    assert set(first[1]) == {"name", "description", "inputSchema"}
    assert second == []
    assert [(asked.method, asked.path) for asked in server.asked] == [("GET", "/s/s-1/tools")] * 2


@pytest.mark.contract("B2")
@pytest.mark.parametrize(
    ("tool", "path"),
    [
        ({"category": "virtual"}, "/s/s-1/tools/virtual/t"),
        ({"category": "custom"}, "/s/s-1/tools/custom/t"),
        ({"category": "mcp", "server": "files"}, "/s/s-1/tools/mcp/files/t"),
        ({"category": "mcp", "server": "a/b ü"}, "/s/s-1/tools/mcp/a%2Fb%20%C3%BC/t"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_call_is_one_request_on_its_categorys_route(
    bridge: Bridge, server: FakeServer, tool: dict[str, str], path: str
) -> None:
    server.tools = [server.tool("t", **tool)]
    bridge.call(1, "t", a=[1, 2.5, None, "ü"])

    assert json.loads(bridge.text(1)) == {"a": [1, 2.5, None, "ü"]}
    [call] = server.calls()
    assert call.path == path
    assert re.fullmatch(r"call_[0-9a-f]{20}", call.headers["X-Call-Id"])
    assert call.headers["Authorization"] == "Bearer token-of-this-test"


@pytest.mark.contract("B2")
def test_every_call_has_an_id_of_its_own_and_the_list_is_fetched_once_for_calls(
    bridge: Bridge, server: FakeServer
) -> None:
    for request_id in range(5):
        bridge.call(request_id, "echo")
        bridge.text(request_id)

    assert len({call.headers["X-Call-Id"] for call in server.calls()}) == 5
    assert [asked.method for asked in server.asked].count("GET") == 1


@pytest.mark.contract("B1")
def test_text_and_structured_content_are_passed_on(bridge: Bridge, server: FakeServer) -> None:
    server.behaviours["echo"] = server.answers({"call_id": "c", "text": "zwölf\n漢🎉", "structured": {"n": [12]}})
    bridge.call(1, "echo")

    assert bridge.answer(1)["result"] == {
        "content": [{"type": "text", "text": "zwölf\n漢🎉"}],
        "structuredContent": {"n": [12]},
    }


@pytest.mark.contract("B3")
def test_a_lone_surrogate_of_the_servers_leaves_as_valid_utf8(bridge: Bridge, server: FakeServer) -> None:
    server.behaviours["echo"] = server.answers({"text": "a\ud800b", "structured": None})
    bridge.call(1, "echo")

    assert bridge.text(1) == "a?b"


@pytest.mark.contract("B2")
def test_a_chunked_answer_is_put_together(bridge: Bridge, server: FakeServer) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    server.behaviours["echo"] = server.sends(
        head + b'9\r\n{"text":"\r\n0A;x=y\r\nwhole","st\r\n10\r\nructured":null} \r\n0\r\n\r\n'
    )
    bridge.call(1, "echo")

    assert bridge.text(1) == "whole"


@pytest.mark.contract("B2")
def test_an_answer_of_many_megabytes_arrives_whole(bridge: Bridge, server: FakeServer) -> None:
    text = "0123456789abcdef" * 500_000
    server.behaviours["echo"] = server.answers({"text": text, "structured": None})
    bridge.call(1, "echo")

    assert bridge.text(1) == text


@pytest.mark.contract("B2")
def test_while_a_call_runs_everything_else_is_answered(bridge: Bridge, server: FakeServer) -> None:
    bridge.call("slow", "slow")
    server.wait_for_calls(1)

    assert bridge.lives()
    assert bridge.ask("initialize", {})["result"]["serverInfo"]
    assert bridge.ask("tools/list")["result"]["tools"]
    bridge.call(2, "echo", x=1)
    assert bridge.text(2) == '{"x":1}'
    assert not server.calls()[0].hung_up.is_set()


@pytest.mark.contract("B2")
def test_a_hundred_calls_at_once_each_get_their_own_answer(bridge: Bridge) -> None:
    for number in range(100):
        bridge.call(number, "echo", number=number)

    assert [json.loads(bridge.text(number))["number"] for number in range(100)] == list(range(100))


@pytest.mark.contract("C2", "B2")
def test_a_cancelled_call_hangs_up_on_the_server_and_is_never_answered(bridge: Bridge, server: FakeServer) -> None:
    bridge.call(1, "slow")
    bridge.call(2, "slow")
    calls = server.wait_for_calls(2)
    bridge.send("notifications/cancelled", {"requestId": 1, "reason": "changed my mind"})
    assert server.wait_until(lambda: any(call.hung_up.is_set() for call in calls))

    assert bridge.lives()
    assert sum(call.hung_up.is_set() for call in calls) == 1
    assert bridge.end() == 0
    assert bridge.messages == []


@pytest.mark.contract("C2")
def test_an_answer_that_comes_after_the_cancel_is_dropped(bridge: Bridge, server: FakeServer) -> None:
    answered = threading.Event()

    def answer_late(asked: Asked) -> None:
        assert not asked.connection.recv(1)
        with suppress(BrokenPipeError):
            server.answers({"text": "too late", "structured": None})(asked)
        answered.set()

    server.behaviours["echo"] = answer_late
    bridge.call(1, "echo")
    server.wait_for_calls(1)
    bridge.send("notifications/cancelled", {"requestId": 1})

    assert answered.wait(20)
    assert bridge.lives()
    assert bridge.end() == 0
    assert bridge.messages == []


@pytest.mark.contract("C2")
def test_a_cancelled_tool_list_is_never_answered(bridge: Bridge, server: FakeServer) -> None:
    asked_for = threading.Event()
    hung_up = threading.Event()

    def hang(asked: Asked) -> None:
        asked_for.set()
        asked.connection.recv(1)
        hung_up.set()

    server.list_behaviour = hang
    bridge.send("tools/list", id=1)
    assert asked_for.wait(20)
    bridge.send("notifications/cancelled", {"requestId": 1})

    assert hung_up.wait(20)
    assert bridge.lives()
    assert bridge.end() == 0
    assert bridge.messages == []


@pytest.mark.contract("C2")
def test_the_id_of_a_cancelled_call_may_be_used_again(bridge: Bridge, server: FakeServer) -> None:
    bridge.call(1, "slow")
    server.wait_for_calls(1)
    bridge.send("notifications/cancelled", {"requestId": 1})
    bridge.call(1, "echo", again=True)

    assert bridge.text(1) == '{"again":true}'


@pytest.mark.contract("B3")
@pytest.mark.parametrize("method", ["ping", "tools/call", "tools/list", "initialize"])
def test_an_id_that_is_still_running_is_refused(bridge: Bridge, server: FakeServer, method: str) -> None:
    bridge.call(1, "slow")
    server.wait_for_calls(1)
    answer = bridge.ask(method, {"name": "echo"}, request_id=1)

    assert answer["error"]["code"] == -32600
    assert len(server.calls()) == 1


@pytest.mark.contract("T9", "C2", "W3")
@pytest.mark.parametrize(("tool", "limit"), [("slow", "0.5s"), ("patient", "0.8s")])
def test_the_bridges_limit_hangs_up_and_says_that_the_outcome_is_unknown(
    server: FakeServer, start: Callable[..., Bridge], tool: str, limit: str
) -> None:
    bridge = start(limits=LIMITS)
    bridge.call(1, tool)
    text = bridge.text(1)
    [call] = server.calls()
    call_id = call.headers["X-Call-Id"]

    beginning = (
        rf"TIMEOUT: layer=bridge_http owner=mcpbridge tool={tool} session=s-1 timeout={re.escape(limit)}"
        rf" elapsed=\d+\.\ds call_id={call_id}\b"
    )
    assert re.match(beginning, text)
    assert "get_tool_call" in text
    assert f"mcp-agent calls show {call_id}" in text
    assert "may still have happened" in text
    assert not re.search("fail|error", text, re.IGNORECASE)
    assert call.hung_up.wait(20)


@pytest.mark.contract("B2", "T9")
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"text": "cut',
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"x" * 100_000,
    ],
    ids=["nothing", "head", "body", "chunk", "huge", "negative", "lengthless", "foreign", "endless"],
)
def test_a_connection_lost_after_sending_is_unknown_and_never_sent_again(
    bridge: Bridge, server: FakeServer, raw: bytes
) -> None:
    server.behaviours["echo"] = server.sends(raw)
    bridge.call(1, "echo")
    text = bridge.text(1)

    [call] = server.calls()
    assert text.startswith("ERROR: layer=bridge_http owner=mcpbridge tool=echo session=s-1 timeout=60s elapsed=")
    assert f"call_id={call.headers['X-Call-Id']} outcome=unknown: " in text
    assert "may have happened" in text
    assert bridge.lives()


@pytest.mark.contract("B2")
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"not json"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b'{"text": 5, "structured": null}'),
        (200, b'{"text": "x", "structured": [1]}'),
        (200, b'{"text": "x", "structured": {"n": NaN}}'),
        (200, b'{"error": {"kind": "x", "message": "m"}}'),
        (201, b'{"text": "x", "structured": null}'),
        (502, b"bad gateway"),
        (504, b'{"error": "x"}'),
        (204, b""),
    ],
    ids=str,
)
def test_an_answer_that_the_protocol_does_not_know_is_unknown(
    bridge: Bridge, server: FakeServer, status: int, body: bytes
) -> None:
    server.behaviours["echo"] = server.sends(
        b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(body)) + body
    )
    bridge.call(1, "echo")

    assert " outcome=unknown: " in bridge.text(1)
    assert len(server.calls()) == 1


@pytest.mark.contract("T9", "B3")
@pytest.mark.parametrize("status", [400, 403, 404, 429, 500, 503])
def test_a_refusal_of_the_servers_is_shown_as_ordinary_text(bridge: Bridge, server: FakeServer, status: int) -> None:
    server.behaviours["nobody"] = server.answers({"error": {"kind": "UnknownTool", "message": "unknown tool"}}, status)
    bridge.call(1, "nobody")
    text = bridge.text(1)

    [call] = server.calls()
    assert call.path == "/s/s-1/tools/virtual/nobody"
    assert text.startswith("ERROR: layer=server_tool owner=server tool=nobody session=s-1 ")
    assert text.endswith(f"call_id={call.headers['X-Call-Id']}: unknown tool")


@pytest.mark.contract("B5")
def test_a_long_refusal_is_cut_and_says_how_much_of_it_is_missing(bridge: Bridge, server: FakeServer) -> None:
    message = "漢" * 20_000
    server.behaviours["echo"] = server.answers({"error": {"kind": "BadArguments", "message": message}}, 400)
    bridge.call(1, "echo")

    assert bridge.text(1).endswith(f": {message[:8_000]} [... 12000 characters omitted ...]")


@pytest.mark.contract("T9")
def test_a_tools_name_cannot_forge_the_fields_of_a_text(bridge: Bridge, server: FakeServer) -> None:
    name = "x session=s-2\nTIMEOUT:\ud800" + "y" * 500
    server.behaviours[""] = server.hangs
    server.list_behaviour = server.answers({"error": {"kind": "AccessDenied", "message": "access denied"}}, 403)
    bridge.call(1, name)
    text = bridge.text(1)

    assert "tool=x_session=s-2_TIMEOUT:_yyy" in text
    assert "\n" not in text
    assert len(text) < 400


@pytest.mark.contract("A2")
def test_no_text_holds_the_token(bridge: Bridge, server: FakeServer) -> None:
    server.behaviours["echo"] = server.sends(b"nonsense")
    bridge.call(1, "echo")

    assert "token-of-this-test" not in bridge.text(1)


@pytest.mark.contract("B2")
def test_a_lost_tool_list_is_asked_for_once_more(bridge: Bridge, server: FakeServer) -> None:
    answers = [server.sends(b""), server.answers({"tools": server.tools})]
    server.list_behaviour = lambda asked: answers.pop(0)(asked)

    assert len(bridge.ask("tools/list")["result"]["tools"]) == 3
    assert len(server.asked) == 2


@pytest.mark.contract("B3")
@pytest.mark.parametrize(
    "answer",
    [
        {"tools": {}},
        {"tools": [{}]},
        {"tools": ["x"]},
        {"tools": [{"name": "x", "category": "odd"}]},
        {"tools": [{"name": "x", "category": "mcp"}]},
        {"error": {"kind": "AccessDenied", "message": "access denied"}},
    ],
    ids=str,
)
def test_a_tool_list_that_cannot_be_had_is_an_error_of_that_request_only(
    bridge: Bridge, server: FakeServer, answer: object
) -> None:
    server.list_behaviour = server.answers(answer, 403 if "error" in str(answer) else 200)
    error = bridge.ask("tools/list")["error"]

    assert error["code"] == -32603
    assert "layer=bridge_http owner=mcpbridge tool=tools/list session=s-1" in error["message"]
    server.list_behaviour = None
    assert bridge.ask("tools/list")["result"]["tools"]


@pytest.mark.contract("B2")
def test_a_call_whose_tool_list_cannot_be_read_was_not_started(bridge: Bridge, server: FakeServer) -> None:
    server.list_behaviour = server.sends(b"")
    bridge.call(1, "echo")

    assert " outcome=not_started: " in bridge.text(1)
    assert server.calls() == []


@pytest.mark.contract("B2")
def test_a_large_request_cut_off_by_the_server_was_not_started(bridge: Bridge, server: FakeServer) -> None:
    bridge.ask("tools/list")
    bridge.call(1, "echo", text="x" * 100)
    bridge.text(1)
    server.hang_up_early = True
    bridge.call(2, "echo", text="x" * 20_000_000)

    assert " outcome=not_started: " in bridge.text(2)
    assert len(server.calls()) == 1
