"""Who answers: a model server that speaks the chat completions API, or a few built-in rules."""

import http.client
import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import urlsplit

from adapters.scripted_agent.config import Config, Endpoint
from adapters.scripted_agent.transcript import Entry

TOOL_PREFIX = "mcp__api-bridge__"
"""Before a bridge tool's own name, in what the model is offered."""

INTERRUPTION = "[Request interrupted by the user]"
LONGEST_SILENCE = timedelta(minutes=10)
"""A model server that says nothing for so long does not answer."""

Tools = Sequence[Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class Tokens:
    """What one reply cost."""

    read: int = 0
    written: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.read + other.read, self.written + other.written)


@dataclass(frozen=True, slots=True)
class Answer:
    """The model's last word for now. `tokens` is None where the model does not say."""

    text: str
    tokens: Tokens | None = None


@dataclass(frozen=True, slots=True)
class CallRequest:
    """The model wants a tool of the bridge, named without the prefix."""

    call_id: str
    tool: str
    arguments: Mapping[str, object]
    tokens: Tokens | None = None


Reply = Answer | CallRequest


class ModelFailed(Exception):
    """The model did not answer; the text says why."""


class Model(Protocol):
    def reply(self, entries: Sequence[Entry], tools: Tools) -> Reply:
        """The next reply. Blocks; raises `ModelFailed`."""
        ...


def model_of(config: Config) -> Model:
    return EndpointModel(config.endpoint, config.model) if config.endpoint else BuiltInModel()


@dataclass(frozen=True, slots=True)
class EndpointModel:
    endpoint: Endpoint
    model: str

    def reply(self, entries: Sequence[Entry], tools: Tools) -> Reply:
        body = {
            "model": self.model,
            "messages": [message for entry in entries for message in _messages(entry)],
            "tools": [_offer(tool) for tool in tools],
        }
        try:
            status, document = self._post(json.dumps(body).encode())
        except (OSError, ValueError, http.client.HTTPException) as problem:
            raise ModelFailed(f"no answer from the model: {problem}") from problem
        if status != http.client.OK:
            raise ModelFailed(f"model error {status}: {_error(document)}")
        try:
            return _reply(document["choices"][0]["message"], _tokens(document.get("usage")))
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise ModelFailed(f"the model's answer has an unknown form: {problem!r}") from problem

    def _post(self, body: bytes) -> tuple[int, Any]:
        url = urlsplit(self.endpoint.base_url)
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        connection = kind(url.netloc, timeout=LONGEST_SILENCE.total_seconds())
        headers = {"Authorization": f"Bearer {self.endpoint.api_key}", "Content-Type": "application/json"}
        try:
            connection.request("POST", f"{url.path.rstrip('/')}/v1/chat/completions", body, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


class BuiltInModel:
    """Runs a command that a prompt quotes after `run exactly this command:`, and echoes every other prompt."""

    _COMMAND = re.compile(r"\brun exactly this command:\s+`(.+?)`(?:\.|\s|$)", re.DOTALL)
    _TOOL = "execute_shell_command"

    def reply(self, entries: Sequence[Entry], tools: Tools) -> Reply:
        places = [place for place, entry in enumerate(entries) if entry["type"] == "user"]
        prompt = str(entries[places[-1]]["text"]) if places else ""
        results = [entry for entry in entries[places[-1] :] if entry["type"] == "tool_result"] if places else []
        if results:
            return Answer(f"OUTPUT {results[-1]['text']}")
        found = self._COMMAND.search(prompt)
        if found and any(tool["name"] == self._TOOL for tool in tools):
            return CallRequest(f"call_{secrets.token_hex(10)}", self._TOOL, {"command": found[1]})
        return Answer(f"ECHO: {prompt}")


def _messages(entry: Entry) -> Iterator[Mapping[str, object]]:
    match entry["type"]:
        case "user" | "assistant":
            yield {"role": entry["type"], "content": entry["text"]}
        case "tool_call":
            function = {"name": f"{TOOL_PREFIX}{entry['tool']}", "arguments": json.dumps(entry["arguments"])}
            call = {"id": entry["call_id"], "type": "function", "function": function}
            yield {"role": "assistant", "content": None, "tool_calls": [call]}
        case "tool_result":
            yield {"role": "tool", "tool_call_id": entry["call_id"], "content": entry["text"]}
        case "interrupted":
            yield {"role": "user", "content": INTERRUPTION}


def _offer(tool: Mapping[str, object]) -> Mapping[str, object]:
    function = {
        "name": f"{TOOL_PREFIX}{tool['name']}",
        "description": tool.get("description", ""),
        "parameters": tool.get("inputSchema", {"type": "object"}),
    }
    return {"type": "function", "function": function}


def _reply(message: Mapping[str, Any], tokens: Tokens | None) -> Reply:
    for call in message.get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        return CallRequest(call["id"], call["function"]["name"].removeprefix(TOOL_PREFIX), arguments, tokens)
    return Answer(message["content"] or "", tokens)


def _tokens(usage: object) -> Tokens | None:
    match usage:
        case {"prompt_tokens": int(read), "completion_tokens": int(written)}:
            return Tokens(read, written)
        case _:
            return None


def _error(document: object) -> object:
    error = document.get("error") if isinstance(document, dict) else None
    return error.get("message") if isinstance(error, dict) else "no message"
