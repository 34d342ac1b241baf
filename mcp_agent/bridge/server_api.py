"""The tool server's routes that a bridge uses, as `docs/architecture.md` lists them."""

import time
from collections.abc import Generator
from contextlib import suppress

from .loop import Wait
from .server_start import connect
from .session_file import Session
from .strict_json import loads
from .unix_http import Connection, ConnectionLost, DeadlinePassed, ExchangeError, NotSent, Response, encode_request

LIST_SECONDS = 10.0
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_SHOWN = ("name", "description", "inputSchema", "annotations")
_CATEGORIES = ("virtual", "custom", "mcp")


class BadAnswer(ExchangeError):
    """The server answered with something that the protocol does not know."""


class Refused(ExchangeError):
    """The server answered that it will not do it; the message is the server's."""


class Tool:
    """What the bridge remembers of a listed tool; `shown` is what the client sees."""

    __slots__ = ("long_running", "name", "route", "shown")

    def __init__(self, record: object) -> None:
        if not isinstance(record, dict) or not isinstance(record.get("name"), str):
            raise BadAnswer("the server listed a tool without a name")
        self.name: str = record["name"]
        self.long_running = record.get("long_running") is True
        self.shown = {key: record[key] for key in _SHOWN if record.get(key) is not None}
        self.route = _route(record.get("category"), record.get("server"), self.name)


class ToolServer:
    """The server as one session's bridge sees it. Closing what a method returned closes its connection."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._tools: dict[str, Tool] = {}
        self._prefix = f"/s/{_quote(session.id)}/"
        self._headers = {"Authorization": f"Bearer {session.token}"}
        self._kept: Connection | None = None
        """The connection of the newest answer. Calls that run at the same time have one each."""

    def tools(self) -> Generator[Wait, bool, list[Tool]]:
        """Ask for the session's tools. A lost connection is tried once more, because reading changes nothing."""
        request = encode_request("GET", self._prefix + "tools", headers=self._headers)
        deadline = time.monotonic() + min(LIST_SECONDS, self.session.ordinary_seconds)
        try:
            response = yield from self._ask(request, deadline)
        except ConnectionLost:
            response = yield from self._ask(request, deadline)
        listed = _answer(response).get("tools")
        if not isinstance(listed, list):
            raise BadAnswer("the server's tool list is not a list")
        tools = [Tool(record) for record in listed]
        self._tools = {tool.name: tool for tool in tools}
        return tools

    def find(self, name: str) -> Generator[Wait, bool, Tool]:
        """The tool of that name; one that nobody listed is left to the server to refuse."""
        if name not in self._tools:
            try:
                yield from self.tools()
            except (ConnectionLost, DeadlinePassed, BadAnswer) as error:
                raise NotSent(f"the tool list could not be read: {error}") from error
        return self._tools.get(name) or Tool({"name": name, "category": "virtual"})

    def limit_seconds(self, tool: Tool) -> float:
        return self.session.long_running_seconds if tool.long_running else self.session.ordinary_seconds

    def call(
        self, tool: Tool, *, body: bytes, call_id: str, deadline: float
    ) -> Generator[Wait, bool, tuple[str, object]]:
        """Send the call, once, and return its text and structured content."""
        headers = self._headers | {"X-Call-Id": call_id, "Content-Type": "application/json"}
        request = encode_request("POST", self._prefix + tool.route, headers=headers, body=body)
        answer = _answer((yield from self._ask(request, deadline)))
        text, structured = answer.get("text"), answer.get("structured")
        if not isinstance(text, str) or not (structured is None or isinstance(structured, dict)):
            raise BadAnswer("the server's answer is not a tool result")
        return text, structured

    def tell_of_event(self, limit_seconds: float, *, event: bytes = b"", name: str = "") -> Generator[Wait, bool, bool]:
        """Say that an event has been spooled, or hand over one that could not be; whether the server took it.

        A server that is down reads the spool when it starts.
        """
        headers = self._headers | ({"X-Event-Name": name, "Content-Type": "application/json"} if event else {})
        request = encode_request("POST", self._prefix + "events", headers=headers, body=event)
        with suppress(OSError, ExchangeError):
            response = yield from Connection(self.session.socket).ask(request, time.monotonic() + limit_seconds)
            return response.status < 300
        return False

    def _ask(self, request: bytes, deadline: float) -> Generator[Wait, bool, Response]:
        connection = self._take_kept() or (yield from connect(self.session, deadline))
        try:
            return (yield from connection.ask(request, deadline))
        finally:
            self._keep_or_close(connection)

    def _take_kept(self) -> Connection | None:
        """The kept connection if a request on it is as sure to be read as one on a new connection."""
        kept, self._kept = self._kept, None
        if kept is not None and not kept.is_usable():
            kept.close()
            return None
        return kept

    def _keep_or_close(self, connection: Connection) -> None:
        if self._kept is None and connection.is_kept:
            self._kept = connection
        else:
            connection.close()


def _answer(response: Response) -> dict[str, object]:
    try:
        answer = loads(response.body)
    except ValueError as error:
        raise BadAnswer(f"the server's answer (status {response.status}) is not JSON") from error
    if not isinstance(answer, dict):
        raise BadAnswer("the server's answer is not a JSON object")
    refusal = answer.get("error")
    if response.status >= 400 and isinstance(refusal, dict) and isinstance(refusal.get("message"), str):
        raise Refused(refusal["message"])
    if response.status != 200:
        raise BadAnswer(f"the server's answer has the status {response.status}")
    return answer


def _route(category: object, server: object, name: str) -> str:
    if category not in _CATEGORIES or (category == "mcp") != isinstance(server, str):
        raise BadAnswer(f"the server listed the tool {name} without saying where it is")
    parts = [str(category), str(server), name] if category == "mcp" else [str(category), name]
    return "/".join(["tools", *(_quote(part) for part in parts)])


def _quote(part: str) -> str:
    data = part.encode("utf-8", "replace")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in data)
