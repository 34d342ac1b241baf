"""The served model, asked over HTTP in each of its APIs."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from mcp_agent.scenarios import prompts
from mcp_agent.scenarios.model import LOOPBACK_KEY, ScriptedModel
from mcp_agent.scenarios.model.conversation import Text

pytestmark = pytest.mark.anyio

TOOL = "mcp__api-bridge__execute_shell_command"
SLEEP = prompts.run_silent_sleep(2, "k7")
REPORT = json.dumps({"stdout": "SLEPT_k7", "ended": "exited"})
JSON = dict[str, Any]


@asynccontextmanager
async def served() -> AsyncIterator[tuple[ScriptedModel, httpx.AsyncClient]]:
    with anyio.fail_after(30):
        async with ScriptedModel.serve() as model:
            headers = {"x-api-key": LOOPBACK_KEY}
            async with httpx.AsyncClient(base_url=model.base_url, headers=headers, trust_env=False) as client:
                yield model, client


def events(response: httpx.Response) -> list[tuple[str | None, Any]]:
    """The parsed server-sent events: their names and their data."""
    assert response.headers["content-type"].startswith("text/event-stream")
    found = []
    for chunk in response.text.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in chunk.splitlines())
        data = fields["data"]
        found.append((fields.get("event"), data if data == "[DONE]" else json.loads(data)))
    return found


async def streamed(client: httpx.AsyncClient, path: str, body: JSON) -> list[tuple[str | None, Any]]:
    response = await client.post(path, json={"model": "m", "stream": True, **body})
    assert response.status_code == 200, response.text
    return events(response)


def user_says(text: str, **more: object) -> JSON:
    return {"messages": [{"role": "user", "content": text}], **more}


# --- messages ---------------------------------------------------------------------------------------------------------


async def test_messages_streams_a_text_in_the_documented_order() -> None:
    async with served() as (_, client):
        found = await streamed(client, "/v1/messages?beta=true", user_says(prompts.remember_note("k7")))

    assert all(name == data["type"] for name, data in found)
    names = [name for name, _ in found if name != "content_block_delta"]
    assert names == ["message_start", "content_block_start", "content_block_stop", "message_delta", "message_stop"]
    deltas = [data["delta"]["text"] for name, data in found if name == "content_block_delta"]
    assert "".join(deltas) == "ACK_k7"
    assert found[-2][1]["delta"]["stop_reason"] == "end_turn"


async def test_messages_streams_a_tool_call() -> None:
    async with served() as (_, client):
        found = await streamed(client, "/v1/messages", user_says(SLEEP, tools=[{"name": TOOL}]))

    block = next(data["content_block"] for name, data in found if name == "content_block_start")
    parts = [data["delta"]["partial_json"] for name, data in found if name == "content_block_delta"]
    assert (block["type"], block["name"], block["input"]) == ("tool_use", TOOL, {})
    assert json.loads("".join(parts)) == {"command": prompts.silent_sleep_command(2, "k7")}
    assert found[-2][1]["delta"]["stop_reason"] == "tool_use"


@pytest.mark.contract("I4")
async def test_messages_finds_the_result_and_live_input_in_one_user_message() -> None:
    reminder = {"type": "text", "text": f"<system-reminder>{prompts.live_input('z9')}</system-reminder>"}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": SLEEP, "cache_control": {"type": "ephemeral"}}]},
        {"role": "system", "content": "be quick"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "…"}, tool_use()]},
        {"role": "user", "content": [tool_result([{"type": "text", "text": REPORT}]), reminder]},
    ]
    async with served() as (_, client):
        response = await client.post(
            "/v1/messages", json={"system": [{"type": "text", "text": "s"}], "messages": messages}
        )

    assert response.json()["content"] == [{"type": "text", "text": "DONE_SLEPT_k7 LIVE_z9"}]
    assert response.json()["stop_reason"] == "end_turn"


def tool_use() -> JSON:
    return {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {"command": "sleep 2"}}


def tool_result(content: object) -> JSON:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content}


async def test_messages_recalls_a_note_from_the_turns_that_are_sent_along() -> None:
    history = [
        {"role": "user", "content": prompts.remember_note("k7")},
        {"role": "assistant", "content": [{"type": "text", "text": "ACK_k7"}]},
        {"role": "user", "content": prompts.recall_note()},
    ]
    async with served() as (_, client):
        kept = await client.post("/v1/messages", json={"messages": history})
        lost = await client.post("/v1/messages", json={"messages": history[2:]})

    assert kept.json()["content"][0]["text"] == "k7"
    assert lost.json()["content"][0]["text"] == prompts.NO_NOTE


async def test_messages_counts_tokens() -> None:
    async with served() as (model, client):
        response = await client.post("/v1/messages/count_tokens", json=user_says("hello"))
        assert model.requests == []

    assert response.json()["input_tokens"] > 0


# --- responses --------------------------------------------------------------------------------------------------------


def message(role: str, text: str, *, kind: str = "input_text") -> JSON:
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


async def test_responses_streams_a_text_in_numbered_events() -> None:
    body = {"instructions": "s", "input": [message("developer", "d"), message("user", prompts.remember_note("k7"))]}
    async with served() as (_, client):
        found = await streamed(client, "/v1/responses", body)

    assert [data["sequence_number"] for _, data in found] == list(range(len(found)))
    assert found[0][0] == "response.created"
    completed = found[-1][1]["response"]
    assert found[-1][0] == "response.completed"
    assert completed["id"] == found[0][1]["response"]["id"]
    assert completed["output"][0]["content"][0]["text"] == "ACK_k7"
    deltas = [data["delta"] for name, data in found if name == "response.output_text.delta"]
    assert "".join(deltas) == "ACK_k7"


async def test_responses_calls_a_namespaced_tool_by_both_its_names() -> None:
    namespace = {"type": "namespace", "name": "mcp__api_bridge", "tools": [{"name": prompts.SHELL_TOOL}]}
    body = {"input": [message("user", SLEEP)], "tools": [{"type": "local_shell"}, namespace]}
    async with served() as (_, client):
        found = await streamed(client, "/v1/responses", body)

    item = next(data["item"] for name, data in found if name == "response.output_item.done")
    assert (item["type"], item["namespace"], item["name"]) == ("function_call", "mcp__api_bridge", prompts.SHELL_TOOL)
    assert json.loads(item["arguments"])["command"] == prompts.silent_sleep_command(2, "k7")


async def test_responses_computes_its_answer_from_the_output_and_live_input() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": prompts.SHELL_TOOL, "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "c1", "output": f"Wall time: 2 s\nOutput:\n{REPORT}"}
    live = message("user", prompts.live_input("z9"))
    items = [message("user", SLEEP), {"type": "reasoning", "summary": []}, call, output, live]
    async with served() as (_, client):
        response = await client.post("/v1/responses", json={"input": items})

    assert response.json()["output"][0]["content"][0]["text"] == "DONE_SLEPT_k7 LIVE_z9"


async def test_responses_takes_plain_text_as_input() -> None:
    async with served() as (_, client):
        response = await client.post("/v1/responses", json={"input": "hello"})

    assert response.json()["output"][0]["content"][0]["text"] == "ECHO: hello"


# --- chat completions -------------------------------------------------------------------------------------------------


async def test_chat_completions_streams_chunks_until_done() -> None:
    async with served() as (_, client):
        found = await streamed(client, "/v1/chat/completions", user_says(prompts.remember_note("k7")))

    assert found[-1][1] == "[DONE]"
    choices = [choice for _, data in found[:-1] for choice in data["choices"]]
    assert "".join(choice["delta"].get("content", "") for choice in choices) == "ACK_k7"
    assert [choice["finish_reason"] for choice in choices][-1] == "stop"


async def test_chat_completions_calls_a_tool_and_computes_from_its_message() -> None:
    tools = [{"type": "function", "function": {"name": TOOL}}]
    async with served() as (_, client):
        first = await client.post("/v1/chat/completions", json=user_says(SLEEP, tools=tools))
        asked = first.json()["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": asked["tool_calls"][0]["id"], "content": REPORT}
        messages = [{"role": "user", "content": SLEEP}, asked, result]
        second = await client.post("/v1/chat/completions", json={"messages": messages, "tools": tools})

    assert first.json()["choices"][0]["finish_reason"] == "tool_calls"
    assert second.json()["choices"][0]["message"]["content"] == "DONE_SLEPT_k7"


async def test_chat_completions_streams_a_tool_call() -> None:
    tools = [{"type": "function", "function": {"name": TOOL}}]
    async with served() as (_, client):
        found = await streamed(client, "/v1/chat/completions", user_says(SLEEP, tools=tools))

    calls = [c for _, d in found[:-1] for choice in d["choices"] for c in choice["delta"].get("tool_calls", [])]
    assert calls[0]["function"]["name"] == TOOL
    assert json.loads(calls[0]["function"]["arguments"])["command"] == prompts.silent_sleep_command(2, "k7")


# --- the server -------------------------------------------------------------------------------------------------------


@pytest.mark.contract("X1")
@pytest.mark.parametrize("headers", [{}, {"x-api-key": "sk-other"}, {"authorization": f"Basic {LOOPBACK_KEY}"}])
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", "/v1/chat/completions"])
async def test_a_request_without_the_key_is_refused(path: str, headers: Mapping[str, str]) -> None:
    async with ScriptedModel.serve() as model, httpx.AsyncClient(trust_env=False) as client:
        response = await client.post(model.base_url + path, json=user_says("hello"), headers=headers)

        assert response.status_code == 401
        assert LOOPBACK_KEY not in response.text
        assert model.requests == []


async def test_the_key_may_come_as_a_bearer_token() -> None:
    async with ScriptedModel.serve(api_key="sk-mine") as model, httpx.AsyncClient(trust_env=False) as client:
        headers = {"authorization": "Bearer sk-mine"}
        response = await client.get(f"{model.base_url}/v1/models", headers=headers)
        assert "sk-mine" not in repr(model)

    assert response.json()["data"][0]["id"] == "scripted-1"


async def test_the_root_answers_a_head_request_without_a_key() -> None:
    async with ScriptedModel.serve() as model, httpx.AsyncClient(trust_env=False) as client:
        assert (await client.head(model.base_url)).status_code == 200


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses", "/v1/chat/completions"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b"{}",
        b'{"messages": 3, "input": 3}',
        b'{"messages": [{"role": "x"}], "input": [{"role": 1}]}',
    ],
)
async def test_a_malformed_request_is_refused_in_words(path: str, body: bytes) -> None:
    async with served() as (_, client):
        response = await client.post(path, content=body)

    assert response.status_code == 400
    assert response.json()["error"]["message"]


async def test_every_answered_request_is_recorded_with_its_reply() -> None:
    async with served() as (model, client):
        await client.post("/v1/messages", json=user_says("one"))
        await client.post("/v1/responses", json={"input": "two"})

        assert [request.dialect for request in model.requests] == ["messages", "responses"]
        assert [request.reply for request in model.requests] == [Text("ECHO: one"), Text("ECHO: two")]


async def test_a_refusal_can_be_scripted_and_lifted() -> None:
    async with served() as (model, client):
        model.refuse_with(429)
        refused = await client.post("/v1/messages", json=user_says("one"))
        model.refuse_with(None)
        answered = await client.post("/v1/messages", json=user_says("one"))

    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "rate_limit_error")
    assert answered.status_code == 200


async def test_the_port_is_closed_afterwards_even_with_a_connection_left_open() -> None:
    async with httpx.AsyncClient(headers={"x-api-key": LOOPBACK_KEY}, trust_env=False) as client:
        with anyio.fail_after(30):
            async with ScriptedModel.serve() as model:
                await client.post(f"{model.base_url}/v1/messages", json=user_says("hello"))
        with pytest.raises(httpx.ConnectError):
            await client.post(f"{model.base_url}/v1/messages", json=user_says("hello"))
